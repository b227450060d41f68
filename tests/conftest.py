"""What all tests share."""

from pathlib import Path

import hypothesis
import pytest
from sklearn.datasets import load_diabetes

HERE = Path(__file__).parent

# The first example of a kernel compiles it, so a single example has no honest time limit; and a
# failure must come back on the next run.  `make long` looks for rarer ones.
hypothesis.settings.register_profile("suffice", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("long", deadline=None, max_examples=300)
hypothesis.settings.load_profile("suffice")

INTERPRETED = {"kernels", "laws", "numerics", "statistics"}


def pytest_collection_modifyitems(items):
    """Mark what `make test` repeats with NUMBA_DISABLE_JIT=1: every inner loop, as plain Python."""
    for item in items:
        if HERE in item.path.parents and item.path.relative_to(HERE).parts[0] in INTERPRETED:
            item.add_marker(pytest.mark.interpreted)


@pytest.fixture(scope="session")
def diabetes():
    """Real data in the units they were measured in: 442 patients, 10 columns, read-only."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y
