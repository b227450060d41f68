"""The commands, each a few lines over what Python users call."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

import suffice
from suffice.cli import algebra
from suffice.cli.choices import column_names, find_model, make_model
from suffice.cli.copied import CopiedColumns
from suffice.cli.learning import ready
from suffice.cli.options import (
    AsJson,
    Data,
    Debug,
    Drop,
    Features,
    Keep,
    KnownTarget,
    ModelFile,
    ModelName,
    Output,
    Save,
    Settings,
    Target,
    Threads,
    Weight,
    reads_data,
    threads_of,
)
from suffice.cli.predictions import (
    Answers,
    output_format,
    predictions,
    transformed,
    write_answers,
)
from suffice.cli.rows import open_rows, progress
from suffice.cli.running import note, write_notes
from suffice.cli.saved import Saved
from suffice.cli.scores import cross_validated, is_cheap, scores_of
from suffice.cli.show import (
    METRICS,
    catalogue_table,
    counted,
    entry_document,
    model_document,
    model_lines,
    outcome,
    report,
    score_line,
    short_document,
    table,
)
from suffice.cli.tables import coefficient_lines, coefficients
from suffice.fitting.files.storage import check_writable

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
@reads_data
def fit(
    data: Data,
    model: ModelName,
    save: Save,
    target: Target = None,
    weight: Weight = None,
    features: Features = None,
    drop: Drop = None,
    settings: Settings = None,
    folds: Annotated[int, typer.Option(help="Folds of the score; 0 for none.")] = 5,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Fit a model to files of any size, and save it.

    Text is encoded, missing cells are filled, columns that say nothing are left out: notes say
    what was done, and the saved model does the same to the rows that it predicts.

    \b
    suffice fit rides.csv --target fare --model ridge --save m.safetensors
    suffice fit 'rides/*.parquet' --target fare --weight trips \\
        --features miles,night --model linear-regression \\
        --set fit_intercept=false --save m.safetensors
    """
    check_writable(save)
    if folds == 1 or folds < 0:
        raise ValueError(f"--folds {folds}: give 2 or more, or 0 for no score")
    began = time.perf_counter()
    with threads_of(threads):
        saved, rows = _ready(data, save, dialect, model, settings, target, weight, features, drop)
        n_rows = saved.notes["rows"]
        with progress(rows, "fitting") as watched:
            saved.model.fit(saved.prepared(watched))
        seconds = time.perf_counter() - began
        line = _score_fit(saved, rows, folds)
    saved.save(save)
    names, found = saved.coefficient_names or [], coefficients(saved)
    document = {
        **short_document(saved.model),
        "rows": n_rows,
        "columns": len(names),
        **{name: saved.notes.get(name) for name in ("target", "left_out", "score")},
        "rows_without_target": saved.notes.get("rows_without_target", 0),
        "seconds": seconds,
        "coefficients": found,
        "saved": save,
    }
    size = f"{counted(n_rows, 'row')} of {counted(len(names), 'column')}"
    done = f"learned from {size} in {seconds:.2f} s"
    first, proof, last = outcome(saved.model, done, save)
    shown = [] if as_json else coefficient_lines(saved.model, found)
    report(document, as_json, first, proof, *shown, *([line] if line else []), last)


def _score_fit(saved: Saved, rows: Any, folds: int) -> str | None:
    """Cross-validate a fit where that costs little; a line that says how good it is."""
    learns_a_target = saved.model.__sklearn_tags__().target_tags.required
    if not folds or not learns_a_target or not hasattr(saved.model, "score"):
        return None
    if not is_cheap(saved, saved.notes["rows"]):
        return "no score: folds of so many rows take their time; `suffice cv` computes it"
    try:
        saved.notes["score"] = cross_validated(saved, rows, folds)
    except ValueError as reason:
        return f"no score: {str(reason).splitlines()[0]}"
    return score_line(saved.notes["score"])


@app.command()
@reads_data
def cv(
    data: Data,
    model: ModelName,
    target: Target = None,
    weight: Weight = None,
    features: Features = None,
    drop: Drop = None,
    settings: Settings = None,
    folds: Annotated[int, typer.Option(help="Parts of the rows, each held out once.")] = 5,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Cross-validate a model: how good it is on rows that it was not fitted to.

    \b
    suffice cv rides.csv --target fare --model ridge --set alpha=2
    """
    if folds < 2:
        raise ValueError(f"--folds {folds}: give 2 or more")
    with threads_of(threads):
        saved, rows = _ready(data, "", dialect, model, settings, target, weight, features, drop)
        if not saved.model.__sklearn_tags__().target_tags.required:
            raise ValueError(f"{type(saved.model).__name__} predicts no target to be compared with")
        found = cross_validated(saved, rows, folds)
    each = [(str(i + 1), f"{score:.6g}") for i, score in enumerate(found["scores"])]
    document = {**short_document(saved.model), "rows": saved.notes["rows"], **found}
    report(document, as_json, table(each, ("fold", METRICS[found["metric"]])), score_line(found))


@app.command()
@reads_data
def predict(
    model: ModelFile,
    data: Data,
    output: Output,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    keep: Keep = None,
    features: Features = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Predict the rows of files of any size, one result for each row.

    The columns of the fit are found by name; others, such as the target, need not be there.

    \b
    suffice predict m.safetensors tomorrow.csv --output fares.csv
    suffice predict m.safetensors 'rides/*.parquet' --keep id --output - | head
    """
    _check_output(output, as_json)
    saved = Saved.load(model)
    answers = predictions(saved, proba)
    _write(saved, answers, data, output, dialect, keep, features, threads, as_json)


@app.command()
@reads_data
def transform(
    model: ModelFile,
    data: Data,
    output: Output,
    keep: Keep = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Write the rows of files as a scaler, an encoder or a projection changes them.

    \b
    suffice transform pca.safetensors rides.csv --output axes.parquet
    """
    _check_output(output, as_json)
    saved = Saved.load(model)
    _write(saved, transformed(saved), data, output, dialect, keep, None, threads, as_json)


def _check_output(output: str, as_json: bool) -> None:
    if as_json and output == "-":
        raise ValueError("--json and --output - both want standard output: name a file")
    output_format(output)


def _write(
    saved: Saved,
    answers: Answers,
    data: list[str],
    output: str,
    dialect: dict[str, Any],
    keep: list[str] | None,
    features: list[str] | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Write what a model says of the rows of files."""
    source = saved.rows(data, output, dialect, features=column_names(features))
    copied = CopiedColumns(source, column_names(keep) or [])
    with threads_of(threads), progress(source, "predicting") as rows:
        n_rows, unseen = write_answers(saved, rows, output, answers, copied)
    for line in unseen.lines():
        note(line)
    if output == "-":
        write_notes()
        return
    document = {"rows": n_rows, "output": output}
    report(document, as_json, f"{counted(n_rows, 'row')} written to {output}")


@app.command()
@reads_data
def score(
    model: ModelFile,
    data: Data,
    target: KnownTarget = None,
    weight: Weight = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Say how good a model's predictions of rows are whose target is known.

    \b
    suffice score m.safetensors tomorrow.csv
    """
    saved = Saved.load(model)
    with threads_of(threads):
        rows = saved.labelled_rows(data, "", dialect, target, weight)
        found = scores_of(saved, rows)
        n_rows = rows.count_rows()
    lines = [(METRICS[name], f"{value:.6g}") for name, value in found.items()]
    document = {"rows": n_rows, "scores": found}
    report(document, as_json, table([*lines, ("rows", f"{n_rows:,}")]))


@app.command()
def inspect(model: ModelFile, as_json: AsJson = False, debug: Debug = False) -> None:
    """Show a saved model: parameters, coefficients, score, certificate, trace and statistic.

    \b
    suffice inspect m.safetensors
    suffice inspect m.safetensors --json | jq .certificate.measures.digits
    """
    saved = Saved.load(model)
    document, found = model_document(saved), coefficients(saved)
    lines = []
    if not as_json:
        lines = model_lines(saved.model, document, model)
        lines += coefficient_lines(saved.model, found, most=None)
    report({**document, "coefficients": found}, as_json, *lines)


algebra.add_to(app)


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


def _ready(
    data: list[str],
    save: str,
    dialect: dict[str, Any],
    model: str,
    settings: list[str] | None,
    target: list[str] | None,
    weight: str | None,
    features: list[str] | None,
    drop: list[str] | None,
) -> tuple[Saved, Any]:
    """An unfitted model and the rows for it, as `fit` and `cv` are told."""
    estimator = make_model(find_model(model).load(), settings or ())
    named, dropped = column_names(features), column_names(drop)
    source = open_rows(data, save, dialect, target, weight, named, dropped)
    return ready(estimator, source, named is not None)


command = typer.main.get_command(app)
"""The program."""
