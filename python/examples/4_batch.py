"""Registration of many pairs from a table. Each pair becomes one row of results, and an interrupted batch can be resumed.

On a cluster, use `pcr99.ray.batch(...)`. The programs `pcr99 batch` and `python -m pcr99.ray` do the same.
"""

import csv
import tempfile
from pathlib import Path

import pcr99

place = Path(tempfile.mkdtemp())

# %% The manifest names each pair and its files, and may have options. It is CSV, Parquet, a data frame, or rows as here.
rows = []
for seed in range(20):
    problem = pcr99.simulate(outliers=0.98, scale="random", seed=seed)
    pcr99.write_matches(place / f"{seed}.csv", problem.source, problem.target)
    rows.append({"pair_id": f"pair {seed}", "pairs": place / f"{seed}.csv"})
rows.append({"pair_id": "lost", "pairs": place / "lost.csv", "time_limit": 60})

# %% Options that a row lacks are given once for all rows.
done = pcr99.batch(rows, place / "out", scale=None)
print(done)
assert done.registered == 20 and done.failed == 1

# %% A failed pair is a row with its error.
for row in done:
    if row["status"] == "failed":
        print(row["pair_id"], "failed:", row["error"])

# %% The table of results is CSV.
with open(done.results_csv, newline="", encoding="utf-8") as file:
    scales = [float(row["scale"]) for row in csv.DictReader(file) if row["status"] == "registered"]
print(f"scales from {min(scales):.2f} to {max(scales):.2f}")

# %% More rows, and failed pairs again. Finished pairs are not run again.
pcr99.write_matches(place / "lost.csv", problem.source, problem.target)
rows.append({"pair_id": "one more", "pairs": place / "0.csv", "seed": 7})
again = pcr99.batch(rows, place / "out", scale=None, resume=True, retry_failed=True)
print(f"{again.registered} registered, {again.finished_before} pairs by the earlier run")
assert again and again.finished_before == 20
