"""What all generative classifiers share: leaving one row out, and checks of their labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.sources import Block, Source


def leaves_one_out(model: Any, source: Source) -> bool:
    """Whether a fit without a row differs from that with it by the row alone."""
    # Priors of classes that a row takes with it are an error of that fit.
    given = (getattr(model, name, None) for name in ("priors", "class_prior"))
    return all(prior is None for prior in given) and model._joins_folds(source)


def leave_one_out_of_block(model: Any) -> Callable[[Block], NDArray[Any]]:
    """From a block to its labels, and what the model without each row predicts for it."""

    def answer(block: Block) -> NDArray[Any]:
        best = model._leave_one_out(block).argmax(axis=1)
        return np.stack([np.asarray(block.y), model.classes_[best]], axis=1)

    return answer


def refuse_undeclared(labels: NDArray[Any], declared: NDArray[Any]) -> None:
    """Raise ValueError if there are labels other than those that `partial_fit` was told of."""
    strange = sorted(set(labels.tolist()) - set(declared.tolist()))
    if strange:
        raise ValueError(
            f"The target label(s) {strange} in y do not exist in the initial classes "
            f"{declared.tolist()}"
        )
