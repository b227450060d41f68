"""scikit-learn's callback protocol: progress bars and monitors around a fit.

The protocol's mixin and contexts are young, so this module alone touches them.  A model
without callbacks, outside any meta-estimator, pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.callback import CallbackSupportMixin, with_callbacks

__all__ = ["CallbackSupportMixin", "FitTask", "fit_task", "with_callbacks"]


class FitTask:
    """The running fit, as its callbacks see it.

    Each pass over the data is one subtask.
    """

    def __init__(self, model: Any, context: Any, X: Any, y: Any) -> None:
        self.model, self.context, self.X, self.y = model, context, X, y

    @contextmanager
    def one_pass(self, attributes: Callable[[], dict[str, Any] | None]) -> Iterator[PassOutcome]:
        """Announce a pass.  `attributes` tells, afterwards, what a model fitted so far has."""
        outcome = PassOutcome()
        if self.context is None:
            yield outcome
            return
        context = self.context.subcontext(task_name="pass")
        common = {"estimator": self.model, "X": self.X, "y": self.y}
        context.call_on_fit_task_begin(**common)
        yield outcome
        outcome.stop = context.call_on_fit_task_end(**common, reconstruction_attributes=attributes)


class PassOutcome:
    """Whether a callback asked, at the end of a pass, to stop."""

    stop = False


@contextmanager
def fit_task(model: Any, X: Any, y: Any, max_passes: int | None) -> Iterator[FitTask]:
    """The task of a whole fit.  Must run inside a method decorated `with_callbacks`."""
    if not (hasattr(model, "_skl_callbacks") or hasattr(model, "_parent_callback_ctx")):
        yield FitTask(model, None, X, y)
        return
    context = model._init_callback_context(max_subtasks=max_passes)
    common = {"estimator": model, "X": X, "y": y}
    context.call_on_fit_task_begin(**common)
    yield FitTask(model, context, X, y)
    context.call_on_fit_task_end(**common, reconstruction_attributes=dict)
