"""A callback that stops fits."""

from __future__ import annotations


class StopAfter:
    """A callback that asks to stop after so many passes, and from then on."""

    def __init__(self, passes):
        self.passes, self.seen = passes, 0

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None): ...

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.seen += context.task_name == "pass"
        return self.seen >= self.passes

    def teardown(self, estimator, context): ...
