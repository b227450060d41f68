"""Ridge from Parquet files: how far from a bare scan, and how much memory.

The data are normal doubles written with pyarrow's defaults.  The folder is `SUFFICE_BENCH_DATA`
if that is set, else the system's temporary folder; what lies there from an earlier run is used
again.  Every measurement has a process of its own, which imports its libraries and fits a few
rows before the clock starts; the files have just been written or read, so they are in the
system's cache.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import (
    OURS,
    Answer,
    Bar,
    Failure,
    Figures,
    Line,
    Options,
    Result,
    answer_of,
    difference,
    in_fresh_process,
    peak_memory,
    timed,
)

FEATURES = [f"x{j}" for j in range(50)]
COLUMNS = [*FEATURES, "y"]
FILES = 8

# --- the files -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """The files: some rows, twice as many of which those are the first half, and larger groups."""

    folder: Path
    rows: int

    @property
    def usual(self) -> list[str]:
        return self.twice[:FILES]

    @property
    def twice(self) -> list[str]:
        return [str(self.folder / f"usual-{i:02}.parquet") for i in range(2 * FILES)]

    @property
    def large_groups(self) -> list[str]:
        return [str(self.folder / f"large-{i:02}.parquet") for i in range(FILES // 2)]

    @property
    def group(self) -> int:
        return self.rows // 40

    @property
    def large_group(self) -> int:
        return self.rows // 4

    @property
    def bytes(self) -> float:
        """What the files take: three times the rows; a dictionary of unique numbers costs."""
        return 3 * self.rows * len(COLUMNS) * 8 * 1.3

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for i, path in enumerate(self.twice):
            self._write_file(path, [i], self.group)
        for i, path in enumerate(self.large_groups):
            self._write_file(path, [2 * i, 2 * i + 1], self.large_group)

    def _write_file(self, path: str, parts: list[int], group: int) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if Path(path).exists():
            return
        table = pa.concat_tables(self._part(i) for i in parts)
        parquet.write_table(table, path + ".part", row_group_size=group)
        os.replace(path + ".part", path)

    def _part(self, i: int) -> Any:
        import pyarrow as pa

        rng = np.random.default_rng(i)
        X = rng.standard_normal((len(FEATURES), self.rows // FILES))
        y = 1.0 + np.linspace(-1, 1, len(X)) @ X + rng.standard_normal(X.shape[1])
        return pa.table([*X, y], names=COLUMNS)


# --- what is measured, in a process each ----------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """Seconds and bytes of a run, and its answer if it has one."""

    seconds: float
    peak: float
    answer: Answer | None = None


def warm_up(model: Any) -> None:
    X = np.random.default_rng(0).standard_normal((100, 2))
    model.fit(X, X[:, 0])


def streamed(paths: list[str]) -> Measured:
    from suffice import Ridge, scan

    warm_up(Ridge())
    scan(paths[:1], target="y")
    model, seconds = timed(lambda: Ridge().fit(scan(paths, target="y")))
    return Measured(seconds, peak_memory(), answer_of(model))


def scanned_as_dataset(paths: list[str], **ahead: int) -> Measured:
    from pyarrow import dataset

    def consume() -> None:
        scanner = dataset.dataset(paths).scanner(columns=COLUMNS, use_threads=True, **ahead)
        for _ in scanner.to_batches():
            pass

    return Measured(timed(consume)[1], peak_memory())


def scanned_one_ahead(paths: list[str]) -> Measured:
    """One file ahead of the reader instead of four: less memory, and here the faster."""
    return scanned_as_dataset(paths, fragment_readahead=1)


def scanned_by_file(paths: list[str]) -> Measured:
    from pyarrow.parquet import ParquetFile

    def consume() -> None:
        for path in paths:
            with ParquetFile(path) as file:
                for _ in file.iter_batches(columns=COLUMNS, use_threads=True):
                    pass

    return Measured(timed(consume)[1], peak_memory())


def loaded_by_pyarrow(paths: list[str]) -> tuple[Any, Any]:
    from pyarrow import dataset

    table = dataset.dataset(paths).to_table(columns=COLUMNS)
    X = np.empty((table.num_rows, len(FEATURES)), order="F")
    for j, name in enumerate(FEATURES):
        X[:, j] = table[name].to_numpy()
    return X, table["y"].to_numpy()


def loaded_by_pandas(paths: Any) -> tuple[Any, Any]:
    import pandas as pd

    frame = pd.read_parquet(paths, columns=COLUMNS)
    return frame[FEATURES].to_numpy(), frame["y"].to_numpy()


def loaded_and_fitted(load: Callable[[list[str]], tuple[Any, Any]], paths: list[str]) -> Measured:
    from sklearn.linear_model import Ridge

    warm_up(Ridge())
    load(paths[:1])
    model, seconds = timed(lambda: Ridge().fit(*load(paths)))
    return Measured(seconds, peak_memory(), answer_of(model))


SCANS: dict[str, Callable[[list[str]], Measured]] = {
    "pyarrow dataset": scanned_as_dataset,
    "pyarrow dataset, one file ahead": scanned_one_ahead,
    "pyarrow by file": scanned_by_file,
}
LOADS: dict[str, Callable[[list[str]], tuple[Any, Any]]] = {
    "pyarrow + scikit-learn": loaded_by_pyarrow,
    "pandas + scikit-learn": loaded_by_pandas,
}

# --- the row -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RidgeFromParquet:
    """The bars of speed and memory for a fit of files."""

    work: str = "Ridge from Parquet"
    rows: int = 4_000_000
    rounds: int = 5
    rounds_in_memory: int = 2

    def run(self, options: Options) -> list[Result]:
        rows = self.rows // 10 if options.quick else self.rows
        place = Path(os.environ.get("SUFFICE_BENCH_DATA") or tempfile.gettempdir())
        place.mkdir(parents=True, exist_ok=True)
        data = Data(place / f"suffice-bench-{rows}", rows)
        free = shutil.disk_usage(place).free
        if free < data.bytes and not all(map(os.path.exists, [*data.twice, *data.large_groups])):
            reason = (
                f"needs {data.bytes / 1e9:.1f} GB on disk and finds {free / 1e9:.1f} GB: let the "
                "variable SUFFICE_BENCH_DATA name a folder with more"
            )
            return [Failure(self.work, reason, broken=False)]
        try:
            data.write()
            return self._measure(data)
        finally:
            if options.keep_data:
                print(f"  kept {data.folder}")
            else:
                shutil.rmtree(data.folder, ignore_errors=True)

    def _measure(self, data: Data) -> list[Result]:
        in_fresh_process(scanned_by_file, data.twice + data.large_groups).result()
        runs: dict[str, list[Measured]] = {}

        def run(name: str, function: Callable[..., Measured], *args: Any) -> None:
            runs.setdefault(name, []).append(in_fresh_process(function, *args).result())

        for turn in range(self.rounds):
            run(OURS, streamed, data.usual)
            for name, bare_scan in SCANS.items():
                run(name, bare_scan, data.usual)
            run("twice the rows", streamed, data.twice)
            run("large groups", streamed, data.large_groups)
            if turn < self.rounds_in_memory:
                for name, load in LOADS.items():
                    run(name, loaded_and_fitted, load, data.usual)
        return self._lines(data, runs)

    def _lines(self, data: Data, runs: dict[str, list[Measured]]) -> list[Result]:
        def seconds(name: str) -> Figures:
            return Figures(tuple(run.seconds for run in runs[name]))

        def peaks(name: str) -> Figures:
            return Figures(tuple(run.peak for run in runs[name]))

        def answer(name: str) -> Answer:
            found = runs[name][0].answer
            assert found is not None
            return found

        work = f"{self.work}, {data.rows:,} × {len(COLUMNS)}"
        first_load = next(iter(LOADS))
        truth = answer(first_load)
        same_bits = difference(answer("large groups"), answer(OURS))
        usual = peaks(OURS)
        return [
            Line(
                f"{work}, next to a bare scan",
                {name: seconds(name) for name in (OURS, *SCANS)},
                Bar(2.5, strict=False),
            ),
            Line(
                f"{work}, next to loading and fitting",
                {name: seconds(name) for name in (OURS, *LOADS)},
                Bar(0.25),
                differences={name: difference(answer(name), truth) for name in (OURS, *LOADS)},
                reference=first_load,
                tolerance=1e-10,
            ),
            Line(
                f"{work}, peak memory",
                {name: peaks(name) for name in (OURS, *SCANS, *LOADS)},
                Bar(700e6, unit="B"),
                judged_by="worst",
                unit="B",
            ),
            Line(
                f"{work}, peak memory of twice the rows",
                {OURS: peaks("twice the rows"), f"{data.rows:,} rows": usual},
                Bar(1.1, strict=False),
                judged_by="worst",
                unit="B",
            ),
            Line(
                f"{work}, peak memory with groups of {data.large_group:,} rows",
                {OURS: peaks("large groups"), f"groups of {data.group:,}": usual},
                Bar(1.1, strict=False),
                judged_by="worst",
                unit="B",
                differences={OURS: same_bits},
                reference=f"groups of {data.group:,}, to the last bit",
            ),
        ]


ROW = RidgeFromParquet()
