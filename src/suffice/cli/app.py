"""The commands, each a few lines over what Python users call."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Annotated, Any

import typer

import suffice
from suffice.cli.choices import column_names, find_model, make_model, parameters
from suffice.cli.predictions import output_format, write_predictions
from suffice.cli.rows import features_of, progress, training_rows
from suffice.cli.show import (
    catalogue_table,
    certificate_document,
    entry_document,
    model_document,
    model_lines,
    outcome,
    report,
    statistic_document,
)
from suffice.fitting.files.storage import check_writable

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    list[str],
    typer.Argument(help="Files, globs or folders: Parquet, CSV, Arrow.", metavar="DATA"),
]
ModelFile = Annotated[str, typer.Argument(help="A saved model.", metavar="MODEL")]
Target = Annotated[
    list[str] | None,
    typer.Option(help="Column to predict; several times for several.", metavar="COLUMN"),
]
Weight = Annotated[str | None, typer.Option(help="Column of row weights.", metavar="COLUMN")]
Features = Annotated[
    list[str] | None,
    typer.Option(help="Columns to use, with commas; by default all others.", metavar="A,B,…"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter; several times for several.", metavar="NAME=VALUE"),
]
Save = Annotated[str, typer.Option(help="Where to save the model.", metavar="FILE")]
Threads = Annotated[int | None, typer.Option(help="Threads to use; by default all cores.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"suffice {suffice.__version__}")
        raise typer.Exit


@app.callback()
def _suffice(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Classical machine learning from sufficient statistics, from files to files.

    \b
    suffice fit rides.csv --target fare --model ridge --save m.safetensors
    suffice inspect m.safetensors
    suffice predict m.safetensors tomorrow.csv --output fares.csv

    Errors are one line and exit code 2.
    """


@app.command()
def fit(
    data: Data,
    model: Annotated[str, typer.Option(help="A name from `suffice models`.", metavar="NAME")],
    save: Save,
    target: Target = None,
    weight: Weight = None,
    features: Features = None,
    settings: Settings = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Fit a model to files of any size, and save it.

    \b
    suffice fit rides.csv --target fare --model ridge --save m.safetensors
    suffice fit 'rides/*.parquet' --target fare --weight trips \\
        --features miles,night --model linear-regression \\
        --set fit_intercept=false --save m.safetensors
    """
    check_writable(save)
    estimator = make_model(find_model(model).load(), settings or ())
    if not target and estimator.__sklearn_tags__().target_tags.required:
        raise ValueError(f"{type(estimator).__name__} needs a target: name it with --target")
    source = training_rows(data, target, weight, column_names(features), save)
    began = time.perf_counter()
    with _threads(threads), progress(source, "fitting") as rows:
        estimator.fit(rows)
    seconds = time.perf_counter() - began
    n_rows = rows.count_rows()
    estimator.save(save)
    document = {
        "model": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "rows": n_rows,
        "columns": source.n_columns,
        "seconds": seconds,
        "certificate": certificate_document(estimator),
        "saved": save,
    }
    done = f"learned from {n_rows:,} rows of {source.n_columns:,} columns in {seconds:.2f} s"
    report(document, as_json, *outcome(estimator, done, save))


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str, typer.Option(help="A file .csv, .parquet or .arrow; - for standard output.")
    ],
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    features: Features = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Predict the rows of files of any size, one result for each row.

    The columns of the fit are read; others, such as the target, need not be there.

    \b
    suffice predict m.safetensors tomorrow.csv --output fares.csv
    suffice predict m.safetensors 'rides/*.parquet' --output - | head
    """
    if as_json and output == "-":
        raise ValueError("--json and --output - both want standard output: name a file")
    output_format(output)
    fitted = suffice.load(model)
    source = training_rows(data, None, None, features_of(fitted, features), output)
    with _threads(threads), progress(source, "predicting") as rows:
        n_rows = write_predictions(fitted, rows, output, proba)
    if output != "-":
        report({"rows": n_rows, "output": output}, as_json, f"{n_rows:,} rows written to {output}")


@app.command()
def inspect(model: ModelFile, as_json: AsJson = False, debug: Debug = False) -> None:
    """Show a saved model: parameters, certificate, trace and statistic.

    \b
    suffice inspect m.safetensors
    suffice inspect m.safetensors --json | jq .certificate.measures.digits
    """
    fitted = suffice.load(model)
    report(model_document(fitted), as_json, *([] if as_json else model_lines(fitted, model)))


@app.command()
def merge(
    models: Annotated[list[str], typer.Argument(help="Saved models.", metavar="MODEL")],
    save: Save,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Make one model of several that learned from different rows.

    \b
    suffice merge north.safetensors south.safetensors --save all.safetensors
    """
    check_writable(save)
    merged = suffice.merge(*map(suffice.load, models))
    _finish(merged, f"merged from {len(models)} models", save, as_json)


@app.command()
def update(
    model: ModelFile,
    data: Data,
    save: Save,
    target: Target = None,
    weight: Weight = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Let a model learn more rows, as if they had been there from the start.

    \b
    suffice update m.safetensors today.csv --target fare --save m.safetensors
    """
    check_writable(save)
    fitted, source = _known(model, "update", data, target, weight, save)
    with _threads(threads), progress(source, "updating") as rows:
        fitted.update(rows)
    _finish(fitted, f"learned {rows.count_rows():,} more rows", save, as_json)


@app.command()
def forget(
    model: ModelFile,
    data: Data,
    save: Save,
    target: Target = None,
    weight: Weight = None,
    digits: Annotated[float, typer.Option(help="Digits that must stay guaranteed.")] = 6,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Let a model unlearn rows, as if they had never been there.

    \b
    suffice forget m.safetensors withdrawn.csv --target fare --save m.safetensors
    """
    check_writable(save)
    fitted, source = _known(model, "forget", data, target, weight, save)
    with _threads(threads), progress(source, "forgetting") as rows:
        fitted.forget(rows, digits=digits)
    _finish(fitted, f"forgot {rows.count_rows():,} rows", save, as_json)


@app.command()
def refit(
    model: ModelFile,
    save: Save,
    settings: Settings = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Solve a model again for other parameters, without its data.

    \b
    suffice refit m.safetensors --set alpha=3 --save stronger.safetensors
    """
    check_writable(save)
    fitted = suffice.load(model)
    _require(fitted, "refit")
    if not settings:
        names = ", ".join(type(fitted)._refit_parameters) or "none"
        raise ValueError(f"name a parameter with --set; those that need no data: {names}")
    fitted.refit(**parameters(type(fitted), settings))
    _finish(fitted, "solved from its statistic", save, as_json)


@app.command()
def models(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the models and what they can do."""
    entries = list(suffice.catalogue.models())
    document = {"models": [entry_document(entry) for entry in entries]}
    report(document, as_json, *([] if as_json else [catalogue_table(entries)]))


@app.command()
def warm(as_json: AsJson = False, debug: Debug = False) -> None:
    """Compile every kernel now, so that no later fit has to wait for it."""
    from rich.console import Console
    from rich.progress import Progress

    from suffice.kernels.compiler.compile import warm as compile_all

    with Progress(
        console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True
    ) as bar:
        task = bar.add_task("compiling", total=None)
        done = compile_all(
            lambda number, total, name: bar.update(
                task, completed=number, total=total, description=name.rpartition(".")[2]
            )
        )
    compiled, loaded = sum(one.compiled for one in done), sum(one.loaded for one in done)
    seconds = sum(one.seconds for one in done)
    document: dict[str, Any] = {
        "kernels": [vars(one) for one in done],
        "compiled": compiled,
        "loaded": loaded,
        "seconds": seconds,
    }
    text = f"{len(done)} kernels: {compiled} compiled, {loaded} loaded, {seconds:.1f} s"
    report(document, as_json, text)


# --- what they share ------------------------------------------------------------------------


def _threads(number: int | None) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if number is None else suffice.config(threads=number)


def _known(
    path: str, verb: str, data: list[str], target: list[str] | None, weight: str | None, save: str
) -> tuple[Any, Any]:
    """A saved model, and rows with the columns that it knows."""
    fitted = suffice.load(path)
    _require(fitted, verb)
    if not target and fitted.__sklearn_tags__().target_tags.required:
        raise ValueError(f"{type(fitted).__name__} needs a target: name it with --target")
    return fitted, training_rows(data, target, weight, features_of(fitted), save)


def _require(fitted: Any, verb: str) -> None:
    if not hasattr(fitted, verb):
        raise ValueError(f"{type(fitted).__name__} cannot {verb}: it keeps no statistic")


def _finish(fitted: Any, done: str, save: str, as_json: bool) -> None:
    """Save a model that a statistic gave, and say so."""
    fitted.save(save)
    document = {
        "model": type(fitted).__name__,
        "parameters": fitted.get_params(deep=False),
        "certificate": certificate_document(fitted),
        "statistic": statistic_document(fitted),
        "saved": save,
    }
    report(document, as_json, *outcome(fitted, done, save))
