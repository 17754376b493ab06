# %% [markdown]
# # Matches from a learned matcher
# A network gives two sets of key points, pairs of indices between them, and a confidence for each pair. Most pairs are wrong.

# %%
import numpy as np

import pcr99

# %% Here a simulated problem stands for the network: 2000 matches, 2 % of them right.
problem = pcr99.simulate(points=2000, outliers=0.98, noise=0.005, shape="knot", seed=11)
rng = np.random.default_rng(0)
keypoints_a = problem.source.astype(np.float32)  # float32 as networks give it
order = rng.permutation(len(problem.target))
keypoints_b = problem.target[order].astype(np.float32)
pairs = np.stack([np.arange(2000), np.argsort(order)], axis=1)  # row i of a matches row pairs[i, 1] of b
confidence = rng.random(2000) + 0.5 * problem.inlier_mask  # right ones are a little more confident

# %% No threshold to guess: it is found from the data.
r = pcr99.solve(keypoints_a, keypoints_b, indices=pairs, weights=confidence)
print(r)
print("right matches found:", len(r.inliers), "of", len(problem.inliers), "within", round(r.threshold, 4))

# %% The verdict says whether to use it. Chance alone, and the same call says so.
shuffled = pairs.copy()
shuffled[:, 1] = rng.permutation(shuffled[:, 1])
nothing = pcr99.solve(keypoints_a, keypoints_b, indices=shuffled)
print(nothing.status, "-", nothing.reason)

# %% A pose from any other program gets the same verdict.
print(pcr99.assess(keypoints_a, keypoints_b, problem.transform, threshold=0.025, indices=pairs).status)

assert r and not nothing
assert np.abs(r.apply(keypoints_a) - pcr99.solve(problem.source, problem.target).apply(problem.source)).max() < 0.01
