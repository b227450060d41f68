"""A saved model as commands use it: the preparation of its columns, the model, and notes.

The notes say what a file cannot: the target's name, what each column held, and what was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline

import suffice
from suffice.cli.inventory import take_inventory
from suffice.cli.preparation import Unseen, differ
from suffice.cli.rows import open_rows, progress, with_columns, without_absent
from suffice.cli.running import note
from suffice.fitting.files.storage import read_notes
from suffice.sources import FileSource, Source
from suffice.sources.files.columns import kind_of
from suffice.sources.files.reading import schema_of

OF_ONE_FIT = ("score", "rows")
"""Notes that are true of a fit, and not of what is made from it."""

HELD, NUMBERS_HELD = {"text": "text", "date": "dates", "other": "values of another type"}, "numbers"
"""What columns of a kind hold, in words."""


@dataclass
class Saved:
    """A fitted model, the preparation of its columns or None, and notes."""

    model: Any
    preparation: Any = None
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str) -> Saved:
        """From a file that `fit` wrote, or `suffice.save`."""
        whole, notes = suffice.load(path), read_notes(path)
        whole = getattr(whole, "best_estimator_", whole)  # what a search has chosen
        if not isinstance(whole, Pipeline):
            return cls(whole, None, notes)
        before = whole[:-1] if len(whole) > 2 else whole.steps[0][1]
        return cls(whole.steps[-1][1], before if len(whole) > 1 else None, notes)

    @property
    def whole(self) -> Any:
        """The model as Python knows it: a pipeline where there is a preparation."""
        if self.preparation is None:
            return self.model
        return Pipeline([("preparation", self.preparation), ("model", self.model)])

    def save(self, path: str) -> None:
        """Write it to a file, whole or not at all."""
        suffice.save(self.whole, path, notes=self.notes)

    @property
    def features(self) -> list[str] | None:
        """The columns that it reads, if it knows them by name."""
        if "columns" in self.notes:
            return list(self.notes["columns"])
        names = getattr(self.whole, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def coefficient_names(self) -> list[str] | None:
        """What the model itself knows the columns as."""
        if self.preparation is not None:
            return [str(name) for name in self.preparation.get_feature_names_out()]
        return self.features

    @property
    def target(self) -> list[str] | None:
        """The column, or columns, that it was fitted to."""
        known = self.notes.get("target") or getattr(self.model, "target_names_in_", None)
        return list(known) if known else None

    def rows(
        self,
        data: Sequence[str],
        output: str,
        dialect: Mapping[str, Any],
        target: Sequence[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
    ) -> FileSource:
        """Rows of files with the columns that it reads."""
        names = list(features or self.features or ()) or None
        source = open_rows(data, output, dialect, target, weight, names)
        known = self.notes.get("columns", {})
        found = dict(zip(source.selection.features, source.column_kinds, strict=True))
        _check_kinds(source, found, known)
        return with_columns(source, {name: known.get(name, found[name]) for name in found})

    def labelled_rows(
        self,
        data: Sequence[str],
        output: str,
        dialect: Mapping[str, Any],
        target: Sequence[str] | None,
        weight: str | None,
    ) -> Source:
        """Rows with a target, those without one left out, and a note of values never seen."""
        target = target or self.target
        required = self.model.__sklearn_tags__().target_tags.required
        if not target and required:
            raise ValueError(f"{type(self.model).__name__} needs a target: name it with --target")
        source = self.rows(data, output, dialect, target if required else None, weight)
        with progress(source, "looking at the rows") as watched:
            found = take_inventory(watched)
        unseen = Unseen(self.preparation)
        unseen.add(unseen.of_counts(found.counts()))
        for line in unseen.lines():
            note(line)
        return without_absent(source, found.absent)

    def prepared(self, source: Source) -> Source:
        """The rows as the model takes them."""
        return source if self.preparation is None else self.preparation.transform(source)

    def become(self, model: Any) -> Saved:
        """Another model behind the same preparation."""
        notes = {name: value for name, value in self.notes.items() if name not in OF_ONE_FIT}
        return Saved(model, self.preparation, notes)

    @classmethod
    def merge(cls, models: Sequence[Saved]) -> Saved:
        """One model of several whose columns were prepared alike."""
        first = models[0]
        for other in models[1:]:
            if what := differ(first.preparation, other.preparation):
                raise ValueError(
                    f"these models cannot be merged, for their columns were prepared differently: "
                    f"{what}; fit one of them, and let it learn the other rows by `suffice update`"
                )
        return first.become(suffice.merge(*(one.model for one in models)))


def _check_kinds(source: FileSource, found: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Raise if a column holds something else than it did in the fit."""
    for name, kind in found.items():
        expected = HELD.get(known.get(name, kind), NUMBERS_HELD)
        if HELD.get(kind, NUMBERS_HELD) == expected:
            continue
        for file in source.files:
            if file.dialect is not None and "text" in (kind, expected):
                continue  # any cell can be read as text, and one that is no number is named
            held = kind_of(schema_of(file).field(name).type)
            if held != "null" and HELD.get(held, NUMBERS_HELD) != expected:
                raise ValueError(
                    f"the model was fitted on {expected} in column {name!r}, but {file.path!r} "
                    f"holds {HELD.get(held, NUMBERS_HELD)} there"
                )
