# %% [markdown]
# # Two scans
# Two clouds that overlap in part, without matches: first with one call, then stage by stage.

# %%
import tempfile
from pathlib import Path

import numpy as np

import pcr99


# %% Two scans of a hilly field.
def field(seed: int, left: float, right: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(left, right, 8000), rng.uniform(0, 6, 8000)
    z = np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y) + 0.3 * np.cos(3.0 * x + 0.5 * y)
    return np.stack([x, y, z + rng.normal(0, 0.005, x.size)], axis=1)


turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
first = field(1, 0, 7)
second = field(2, 2, 9) @ turn.T + [500000.0, 5400000.0, 300.0]  # other coordinates, far from the origin

# %% One call. Paths, arrays and clouds of Open3D can be combined.
with tempfile.TemporaryDirectory() as directory:
    path = Path(directory) / "second.ply"
    pcr99.write_points(path, second)
    r = pcr99.register(first, path)
print(r)
print(f"{r.fit.overlap_source:.0%} of the first scan overlaps the second, RMSE {r.rmse:.4f}, voxel {r.voxel:.3f}")
assert r and np.abs(r.rotation - turn).max() < 0.01

# %% The same stage by stage.
voxel = pcr99.suggest_voxel(first, second)
sampled = [pcr99.voxel_down_sample(cloud, voxel) for cloud in (first, second)]
features = [pcr99.fpfh(cloud, pcr99.estimate_normals(cloud, 2 * voxel), 5 * voxel) for cloud in sampled]
pairs = pcr99.match_features(*features)
coarse = pcr99.solve(*sampled, indices=pairs)
print(f"{len(pairs)} matches, {len(coarse.inliers)} inliers; {coarse.status}")
fine = pcr99.refine(first, second, coarse.transform)
print(pcr99.verify(first, second, fine.transform))
assert fine and np.abs(fine.transform - r.transform)[:3, :3].max() < 0.01

# %% A cloud that is registered many times is prepared once.
target = pcr99.PreparedCloud(second)
for seed in (3, 4):
    print(seed, pcr99.register(field(seed, 1, 6), target).status)
