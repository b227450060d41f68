"""scikit-learn's callback protocol: progress bars and monitors around a fit.

The protocol's mixin and contexts are young, so this module alone touches them.  A model
without callbacks, outside any meta-estimator, pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from sklearn.callback import CallbackSupportMixin, with_callbacks

from suffice.fitting.requests import Request

__all__ = ["CallbackSupportMixin", "FitTask", "fit_task", "is_watched", "with_callbacks"]


class FitTask:
    """The running fit, as its callbacks see it.

    Each pass over the data is one subtask.
    """

    def __init__(self, context: Any, arguments: dict[str, Any]) -> None:
        self.context, self.arguments = context, arguments

    @contextmanager
    def one_pass(self, asked: Request) -> Iterator[SimpleNamespace]:
        """Announce a step, unless it has no name."""
        outcome = SimpleNamespace(stop=False)  # whether a callback asks to stop after it
        if self.context is None or asked.step is None:
            yield outcome
            return
        learned = getattr(asked, "learned", None) or (lambda: None)
        context = self.context.subcontext(task_name="pass")
        context.call_on_fit_task_begin(**self.arguments)
        yield outcome
        outcome.stop = context.call_on_fit_task_end(
            **self.arguments, reconstruction_attributes=learned
        )


def is_watched(model: Any) -> bool:
    """Whether callbacks are told about a model's fit."""
    return hasattr(model, "_skl_callbacks") or hasattr(model, "_parent_callback_ctx")


@contextmanager
def fit_task(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[FitTask]:
    """The task of a whole fit.  Must run inside a method decorated `with_callbacks`."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    arguments = {"estimator": model, "X": X, "y": y, "metadata": metadata}
    if not is_watched(model):
        yield FitTask(None, arguments)
        return
    context = model._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(**arguments)
    yield FitTask(context, arguments)
    context.call_on_fit_task_end(**arguments, reconstruction_attributes=dict)
