"""Run the benchmarks and write benchmarks/RESULTS.md.

    python -m benchmarks [--only PATTERN] [--update] [--quick] [--keep-data]

The exit status is 1 if an answer of ours is wrong or a row breaks, never because of a time.
"""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from pathlib import Path

from benchmarks import (
    bayesian,
    clustering,
    conditioning,
    correlated,
    decomposition,
    density,
    digits,
    discriminant,
    ensembles,
    forests,
    generative,
    glm,
    growth,
    inference,
    kernel_methods,
    lasso,
    least_squares,
    linear_svm,
    local,
    logistic,
    mixture_growth,
    mixtures,
    naive_bayes,
    neighbors,
    on_factors,
    parquet,
    perceptron,
    selection,
    starts,
    svm,
    svm_growth,
    text,
    tree_growth,
    trees,
)
from benchmarks.harness import Failure, Options, Result, Row, Table, in_fresh_process
from benchmarks.report import cells, document, grid

ROWS: tuple[Row, ...] = (
    *least_squares.ROWS,
    *lasso.ROWS,
    *local.ROWS,
    *logistic.ROWS,
    *bayesian.ROWS,
    *perceptron.ROWS,
    *generative.ROWS,
    *discriminant.ROWS,
    *naive_bayes.ROWS,
    *density.ROWS,
    *neighbors.ROWS,
    *trees.ROWS,
    *forests.ROWS,
    *text.ROWS,
    *ensembles.ROWS,
    *glm.ROWS,
    *inference.ROWS,
    *decomposition.ROWS,
    *kernel_methods.ROWS,
    *clustering.ROWS,
    *mixtures.ROWS,
    *linear_svm.ROWS,
    *svm.ROWS,
    *conditioning.ROWS,
    *correlated.ROWS,
    *on_factors.ROWS,
    *selection.ROWS,
    parquet.ROW,
    digits.ROW,
    growth.ROW,
    tree_growth.ROW,
    mixture_growth.ROW,
    svm_growth.ROW,
    starts.ROW,
)
RESULTS = Path(__file__).with_name("RESULTS.md")


def outcome(row: Row, options: Options) -> list[Result]:
    """The results of a row, run in a process of its own."""
    future = in_fresh_process(row.run, options)
    error = future.exception()
    if error is not None:
        traceback.print_exception(error)
        return [Failure(row.work, type(error).__name__)]
    return future.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="PATTERN", help="rows whose name matches")
    parser.add_argument("--update", action="store_true", help="keep the results of other rows")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    parser.add_argument("--keep-data", action="store_true", help="leave the Parquet files")
    arguments = parser.parse_args()
    options = Options(arguments.quick, arguments.keep_data)
    chosen = [row for row in ROWS if re.search(arguments.only, row.work, re.IGNORECASE)]
    results: list[Result] = []
    for row in chosen:
        print(f"{row.work} …", flush=True)
        for result in outcome(row, options):
            if isinstance(result, Table):
                print(grid(result.heads, result.cells), flush=True)
            else:
                print("  " + " | ".join(cells(result)), flush=True)
            results.append(result)
    if (arguments.update or len(chosen) == len(ROWS)) and not options.quick:
        earlier = RESULTS.read_text("utf-8") if arguments.update else ""
        RESULTS.write_text(document(results, earlier), "utf-8")
        print(f"wrote {RESULTS.name}")
    else:
        print("\n" + document(results))
    return 0 if results and all(result.agrees for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
