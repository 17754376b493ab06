# %% [markdown]
# # Matches from a learned matcher
# A network outputs two sets of key points, index pairs between them, and a confidence for each pair. Most pairs are wrong.

# %%
import numpy as np

import pcr99

# %% A simulated problem replaces the network: 2000 matches, 2 % of them correct.
problem = pcr99.simulate(points=2000, outliers=0.98, noise=0.005, shape="knot", seed=11)
rng = np.random.default_rng(0)
keypoints_a = problem.source.astype(np.float32)  # float32, as networks output it
order = rng.permutation(len(problem.target))
keypoints_b = problem.target[order].astype(np.float32)
pairs = np.stack([np.arange(2000), np.argsort(order)], axis=1)  # row i of a matches row pairs[i, 1] of b
confidence = rng.random(2000) + 0.5 * problem.inlier_mask  # correct matches are slightly more confident

# %% The inlier threshold is found from the data.
r = pcr99.solve(keypoints_a, keypoints_b, indices=pairs, weights=confidence)
print(r)
print(f"{len(r.inliers)} inliers within {r.threshold:.4f}; {len(problem.inliers)} matches are correct")

# %% Random matches have no consensus. The status and the doubt say so.
shuffled = pairs.copy()
shuffled[:, 1] = rng.permutation(shuffled[:, 1])
nothing = pcr99.solve(keypoints_a, keypoints_b, indices=shuffled)
print(nothing.status, nothing.doubt, "-", nothing.reason)

# %% `assess` judges a pose from any other program by the same evidence.
print(pcr99.assess(keypoints_a, keypoints_b, problem.transform, threshold=0.025, indices=pairs).status)

assert r and not nothing
assert np.abs(r.apply(keypoints_a) - pcr99.solve(problem.source, problem.target).apply(problem.source)).max() < 0.01
