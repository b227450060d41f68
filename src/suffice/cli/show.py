"""What commands print: tables for people, one JSON document for machines."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from suffice.catalogue import Entry
from suffice.cli.running import GIVEN_NOTES, GIVEN_WARNINGS, one_line, write_notes

NAMES_SHOWN = 8
WIDTH_OF_FILES = 160  # where the output is no terminal
WIDE = 120

METRICS = {
    "r2": "R²", "d2": "D²", "rmse": "RMSE", "mae": "MAE", "accuracy": "accuracy",
    "log_loss": "log loss", "log_likelihood": "log-likelihood", "flagged": "share flagged",
}  # fmt: skip


def report(document: dict[str, Any], as_json: bool, *lines: Any) -> None:
    """Print what a command did: the document for machines, or the lines for people."""
    write_notes()
    if as_json:
        print_json({**document, "notes": list(GIVEN_NOTES), "warnings": list(GIVEN_WARNINGS)})
        return
    for line in lines:
        print_rich(line) if hasattr(line, "__rich_console__") else print(line)


def print_json(document: Any) -> None:
    """One JSON document on standard output, in ASCII."""
    print(json.dumps(jsonable(document), indent=2, allow_nan=False))


def jsonable(value: Any) -> Any:
    """A value in JSON's terms: what is not finite becomes null, what has no form its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    return repr(value)


def print_rich(thing: Any) -> None:
    """A Rich table; in files and pipes it is as wide as it needs to be."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False, width=width())
    with console.capture() as drawn:
        console.print(thing)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()).strip("\n"))


def width() -> int:
    """Characters of a line of the output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_OF_FILES


def table(rows: Iterable[Sequence[str]], titles: Sequence[str] = ()) -> Any:
    """Rows of text as a Rich table."""
    from rich import box
    from rich.table import Table

    drawn = Table(*titles, box=box.SIMPLE_HEAD if titles else None, show_header=bool(titles))
    if not titles:
        drawn.pad_edge, drawn.padding = True, (0, 2)
    for i, column in enumerate(drawn.columns):
        column.no_wrap, column.overflow = i == 0, "fold"  # names stay whole, and no word is cut
    for row in rows:
        drawn.add_row(*map(one_line, row))
    return drawn


# --- models -------------------------------------------------------------------------------


def short_document(model: Any) -> dict[str, Any]:
    """What a model is, and what was proved about it if it is fitted."""
    document = {"model": type(model).__name__, "parameters": model.get_params(deep=False)}
    if hasattr(model, "certificate_"):
        document["certificate"] = certificate_document(model)
    return document


def model_document(saved: Any) -> dict[str, Any]:
    """The same, and what it has learned from and how."""
    model = saved.model
    document: dict[str, Any] = {
        **short_document(model),
        "columns": int(saved.whole.n_features_in_),
        "features": saved.features,
        "prepared": None if saved.preparation is None else saved.coefficient_names,
        "target": saved.target,
        **{name: saved.notes.get(name) for name in ("left_out", "score")},
    }
    if hasattr(model, "classes_"):
        document["classes"] = model.classes_
    keys = ("step", "objective", "seconds", "accepted")
    passes = zip(*(getattr(model.trace_, key) for key in keys), strict=True)
    document["trace"] = [dict(zip(keys, one, strict=True)) for one in passes]
    document["statistic"] = statistic_document(model)
    return document


def certificate_document(model: Any) -> dict[str, Any]:
    """What was proved about a fit."""
    proof = model.certificate_
    return {
        "holds": proof.holds,
        "claim": proof.claim,
        "path": proof.path,
        "measures": dict(proof.measures),
        "notes": list(proof.notes),
    }


def statistic_document(model: Any) -> dict[str, Any] | None:
    """The kept statistic: its kind, rows, columns, precision and bytes."""
    statistic = vars(model).get("_statistic", getattr(model, "statistics_", None))
    if statistic is None:
        return None
    return {
        "kind": type(statistic).__name__,
        "rows": count_of(statistic),
        "columns": int(model.n_features_in_),
        "precision": getattr(statistic, "precision", None),
        "bytes": int(getattr(statistic, "nbytes", 0)),
    }


def count_of(statistic: Any) -> int | None:
    """Number of rows behind a statistic."""
    count = getattr(statistic, "count", None)
    return None if count is None else int(np.sum(count))


def model_lines(model: Any, document: Mapping[str, Any], path: str) -> list[Any]:
    """A model's document for people."""
    names, prepared = document["features"], document["prepared"]
    facts = [
        ("file", f"{path} ({size(os.path.getsize(path))})"),
        ("columns", f"{document['columns']:,}" + (f": {shown(names)}" if names else "")),
    ]
    if prepared:
        facts.append(("prepared", f"{len(prepared):,}: {shown(prepared)}"))
    if document["target"]:
        facts.append(("target", shown(document["target"])))
    if document["left_out"]:
        facts.append(("left out", shown(list(document["left_out"]))))
    if document["score"]:
        facts.append(("score", score_line(document["score"])))
    if "classes" in document:
        facts.append(("classes", shown(np.asarray(document["classes"]).tolist())))
    statistic = document["statistic"]
    if statistic is None:
        facts.append(("statistic", "none was kept: to learn more, it needs all rows"))
    else:
        facts.append(
            (
                "statistic",
                f"{statistic['kind']} of {statistic['rows']:,} rows in {statistic['precision']}, "
                f"{size(statistic['bytes'])}",
            )
        )
    parameters = [(name, repr(value)) for name, value in document["parameters"].items()]
    return [
        type(model).__name__,
        table(facts),
        "\nparameters",
        table(parameters),
        f"\n{model.certificate_}",
        f"\n{model.trace_}",
    ]


def outcome(model: Any, done: str, path: str) -> tuple[str, str, str]:
    """What a command made: the model, what was proved about it, and where it is."""
    proof = model.certificate_
    verdict = "holds" if proof.holds else "DOES NOT HOLD"
    return f"{one_line(repr(model))} {done}", f"{verdict}: {proof.claim}", f"saved to {path}"


def score_line(score: Mapping[str, Any]) -> str:
    """A cross-validated score."""
    return (
        f"{METRICS[score['metric']]} {score['mean']:.4g} ± {score['std']:.2g} "
        f"on held-out rows ({score['folds']}-fold cross-validation)"
    )


def counted(number: int, noun: str) -> str:
    """So many things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(names: Sequence[Any]) -> str:
    """The first names of a list."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(map(str, names[:NAMES_SHOWN])) + more


def size(n_bytes: int) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes} bytes"


# --- the catalogue --------------------------------------------------------------------------

ABILITIES = {
    "merge": "merge", "forget": "forget", "stream": "files", "distribute": "cluster",
    "weights": "weights", "missing": "NaN", "sparse": "sparse",
}  # fmt: skip


def entry_document(entry: Entry) -> dict[str, Any]:
    """One model of the catalogue."""
    return {**asdict(entry), "refit": list(entry.refit)}


def catalogue_table(entries: Iterable[Entry]) -> Any:
    """The catalogue for people; in a narrow terminal only what is most asked for."""
    titles = ("model", "task", "can", "refit", "objective")[: 5 if width() >= WIDE else 3]
    rows = [
        (
            entry.name,
            entry.task,
            ", ".join(word for name, word in ABILITIES.items() if getattr(entry, name)),
            ", ".join(entry.refit) or "–",
            entry.objective,
        )[: len(titles)]
        for entry in entries
    ]
    return table(rows, titles)
