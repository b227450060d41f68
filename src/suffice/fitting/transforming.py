"""What transformers share: rows in memory go out as `set_output` says, a source as a source."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import TransformerMixin
from sklearn.utils._set_output import _get_output_config

from suffice.sources import Source


class SourceTransformer(TransformerMixin, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A transformer whose `transform` turns a source into a source."""

    def __init_subclass__(cls, **options: Any) -> None:
        # Methods are not wrapped by scikit-learn, which would make a frame of a source; what
        # they return of rows in memory they wrap themselves, so `set_output` is there.
        super().__init_subclass__(auto_wrap_output_keys=None, **options)
        cls._sklearn_auto_wrap_output_keys = {"transform"}

    _sklearn_auto_wrap_output_keys: ClassVar[set[str]]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and transform the same rows.

        Parameters
        ----------
        X : array, data frame, CSR matrix or Source, of shape (rows, columns)
        y : array of shape (rows,), optional
            None if `X` is a source.
        **fit_params
            Arguments of `fit`.

        Returns
        -------
        As of `transform`.
        """
        if not isinstance(X, Source):
            return super().fit_transform(X, y, **fit_params)
        model: Any = self
        return model.fit(X, y, **fit_params).transform(X)

    def _names_of_source(self, labels: list[str]) -> list[str] | None:
        """Names of a source's columns: as in memory, where frames are asked for."""
        named = _get_output_config("transform", self)["dense"] != "default"
        return labels if named else None
