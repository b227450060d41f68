"""Commands that change saved models without the rows they were fitted to."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from suffice.cli.choices import parameters
from suffice.cli.options import (
    AsJson,
    Data,
    Debug,
    KnownTarget,
    ModelFile,
    Save,
    Settings,
    Threads,
    Weight,
    reads_data,
    threads_of,
)
from suffice.cli.rows import progress
from suffice.cli.saved import Saved
from suffice.cli.show import counted, outcome, report, short_document, statistic_document
from suffice.fitting.files.storage import check_writable


def add_to(app: typer.Typer) -> None:
    """Add the commands to a program."""
    for command in (merge, update, forget, refit):
        app.command()(command)


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
    merged = Saved.merge([Saved.load(path) for path in models])
    _finish(merged, f"merged from {counted(len(models), 'model')}", save, as_json)


@reads_data
def update(
    model: ModelFile,
    data: Data,
    save: Save,
    target: KnownTarget = None,
    weight: Weight = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Let a model learn more rows, as if they had been there from the start.

    \b
    suffice update m.safetensors today.csv --save m.safetensors
    """
    check_writable(save)
    saved = _able(model, "update")
    with threads_of(threads):
        source = saved.labelled_rows(data, save, dialect, target, weight)
        with progress(source, "updating") as rows:
            saved.model.update(saved.prepared(rows))
    _finish(
        saved.become(saved.model),
        f"learned {counted(source.count_rows(), 'more row')}",
        save,
        as_json,
    )


@reads_data
def forget(
    model: ModelFile,
    data: Data,
    save: Save,
    target: KnownTarget = None,
    weight: Weight = None,
    digits: Annotated[float, typer.Option(help="Digits that must stay guaranteed.")] = 6,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
    dialect: Any = None,
) -> None:
    """Let a model unlearn rows, as if they had never been there.

    \b
    suffice forget m.safetensors withdrawn.csv --save m.safetensors
    """
    check_writable(save)
    saved = _able(model, "forget")
    with threads_of(threads):
        source = saved.labelled_rows(data, save, dialect, target, weight)
        with progress(source, "forgetting") as rows:
            saved.model.forget(saved.prepared(rows), digits=digits)
    _finish(
        saved.become(saved.model), f"forgot {counted(source.count_rows(), 'row')}", save, as_json
    )


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
    saved = _able(model, "refit")
    kind = type(saved.model)
    if not settings:
        names = ", ".join(kind._refit_parameters) or "none"
        raise ValueError(f"name a parameter with --set; those that need no data: {names}")
    saved.model.refit(**parameters(kind, settings))
    _finish(saved.become(saved.model), "solved from its statistic", save, as_json)


def _able(path: str, verb: str) -> Saved:
    """A saved model that can do something without its rows."""
    saved = Saved.load(path)
    if not hasattr(saved.model, verb):
        raise ValueError(f"{type(saved.model).__name__} cannot {verb}: it keeps no statistic")
    return saved


def _finish(saved: Saved, done: str, save: str, as_json: bool) -> None:
    """Save a model that a statistic gave, and say so."""
    saved.save(save)
    document = {
        **short_document(saved.model),
        "statistic": statistic_document(saved.model),
        "saved": save,
    }
    report(document, as_json, *outcome(saved.model, done, save))
