"""A tour of suffice in a minute: fit, read the table and the certificate, stream the same fit.

Run it with `make demo`.  The data is the diabetes study that ships with scikit-learn: ten
measurements of 442 patients and how far the disease had progressed a year later.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_diabetes

import suffice


def heading(text: str) -> None:
    """A line that a person sees at a glance."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}\n" + "─" * len(text))


def write_parquet(folder: Path, table: pa.Table, y: np.ndarray) -> None:
    """The same rows, target included, in three files of uneven length."""
    table = table.append_column("progression", pa.array(y))
    cuts = [0, len(y) // 5, len(y) // 2, len(y)]
    for i, (start, stop) in enumerate(pairwise(cuts)):
        pq.write_table(table.slice(start, stop - start), folder / f"part-{i}.parquet")


def main() -> None:
    """Show what a fit is, and what it carries."""
    data = load_diabetes(scaled=False)
    X, y, names = data.data, data.target, list(data.feature_names)

    heading("1. Fit a line to 442 patients, and read it as a statistician does")
    table = pa.table({name: X[:, j] for j, name in enumerate(names)})
    model = suffice.LinearRegression().fit(table, y)
    print(model.summary())

    heading("2. What was proved about this fit")
    print(model.certificate_)
    print("\nHow it went:")
    print(model.trace_)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_parquet(folder, table, y)
        heading("3. The same fit from a folder of Parquet files, read block by block")
        source = suffice.scan(folder, target="progression")
        print(source)
        streamed = suffice.LinearRegression().fit(source)
        same = np.array_equal(streamed.coef_, model.coef_)
        print(f"coefficients equal to the last bit: {same}")
        print(f"R² over the files: {streamed.score(source):.4f}")

        heading("4. Other penalties from the statistic alone, without the data")
        ridge = suffice.Ridge(standardize=True).fit(source)
        path = ridge.path([0.1, 10.0, 1000.0])
        for alpha, coef in zip(path.alphas, path.coefs, strict=True):
            print(f"alpha {alpha:>7g}   " + "  ".join(f"{c:8.3f}" for c in coef[:6]) + "  …")

        heading("5. Saved and loaded: one file, nothing in it is ever executed")
        ridge.save(folder / "ridge.safetensors")
        loaded = suffice.load(folder / "ridge.safetensors")
        size = (folder / "ridge.safetensors").stat().st_size
        agree = np.array_equal(loaded.predict(source), ridge.predict(source))
        print(f"{size:,} bytes; predictions equal: {agree}")

    heading("6. Two hospitals join their models, and one withdraws its patients")
    here, there = suffice.Ridge().fit(X[:200], y[:200]), suffice.Ridge().fit(X[200:], y[200:])
    joint = here + there
    away = np.abs(joint.coef_ - suffice.Ridge().fit(X, y).coef_).max()
    print(f"joined, against one fit on all rows: {away:.1e}")
    joint.forget(X[200:], y[200:])
    print(f"after forgetting, against the first:  {np.abs(joint.coef_ - here.coef_).max():.1e}")
    print(f"digits guaranteed: {joint.certificate_.digits:.1f}")

    heading("7. A million rows")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 20))
    y = 3 + X @ np.arange(1.0, 21.0) + rng.standard_normal(1_000_000)
    began = time.perf_counter()
    big = suffice.LinearRegression().fit(X, y)
    print(f"fitted 1,000,000 × 20 in {time.perf_counter() - began:.2f} s")
    print(big.certificate_)

    began = time.perf_counter()
    grid = {"alpha": np.logspace(-2, 6, 50)}
    search = suffice.GridSearchCV(suffice.Ridge(), grid, cv=10).fit(X, y)
    print(
        f"\n50 penalties × 10 folds in {time.perf_counter() - began:.2f} s and "
        f"{search.passes_} pass: alpha {search.best_params_['alpha']:.3g} is best"
    )


if __name__ == "__main__":
    main()
