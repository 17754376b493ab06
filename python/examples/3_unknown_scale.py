# %% [markdown]
# # Unknown scale
# A model from photographs has no unit. The scale is estimated together with the pose, with or without bounds.

# %%
import numpy as np

import pcr99

problem = pcr99.simulate(points=1000, outliers=0.97, scale="random", shape="knot", seed=5)
print(problem)

# %% The scale is unknown.
r = pcr99.solve(problem.source, problem.target, scale=None)
print(r, f"scale {r.scale:.4f}, true {problem.scale:.4f}")
assert r and abs(r.scale / problem.scale - 1) < 0.05

# %% The scale is between 1 and 5.
bounded = pcr99.solve(problem.source, problem.target, scale=(1, 5))
print(bounded, f"scale {bounded.scale:.4f}")
assert bounded

# %% The scale is known. This is the easiest case and the fastest.
known = pcr99.solve(problem.source, problem.target, scale=problem.scale)
print(known, f"{1e3 * known.seconds['total']:.2f} ms")
assert known

# %% PCR-99 as published. It needs a threshold.
paper = pcr99.solve(problem.source, problem.target, scale=None, threshold=0.05, method="paper")
print(paper, paper.counters)
assert np.abs(paper.transform - r.transform).max() < 0.1
