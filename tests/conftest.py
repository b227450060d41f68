"""What all tests share."""

import collections
import itertools

import hypothesis
import pytest
from sklearn.datasets import load_diabetes

# The first example of a kernel compiles it, so a single example has no honest time limit; and a
# failure must come back on the next run.  `make long` looks for rarer ones.
hypothesis.settings.register_profile("suffice", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("long", deadline=None, max_examples=300)
hypothesis.settings.load_profile("suffice")


def pytest_addoption(parser):
    parser.addoption(
        "--long", action="store_true", help="whole products of options, and tests marked long"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what only `make long` tries."""
    if not config.getoption("--long"):
        kept = set(in_pairs(item for item in items if not item.get_closest_marker("long")))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def in_pairs(items):
    """Of each test the cases in which every two values of two options meet once at least.

    Nearly all mistakes show in one option or in two together; a test of three or more options
    need not try their whole product.  `make long` does.
    """
    tests = collections.defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        pairs = [set(itertools.combinations(options(case), 2)) for case in cases]
        if len(options(cases[0])) < 3:
            yield from cases
            continue
        missing = set().union(*pairs)
        while missing:
            best = max(range(len(cases)), key=lambda i: len(pairs[i] & missing))
            missing -= pairs[best]
            yield cases[best]


def options(item):
    """The options of a case with the identity of their values: a fixture's, or a decorator's."""
    if not hasattr(item, "callspec"):
        return []
    values = {name: id(value) for name, value in item.callspec.params.items()}
    together = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [names.split(",") if isinstance(names, str) else names for names in together]
    found = [
        tuple((name.strip(), values.pop(name.strip())) for name in names) for names in together
    ]
    return sorted([*found, *(((name, value),) for name, value in values.items())])


@pytest.fixture(scope="session")
def diabetes():
    """Real data in the units they were measured in: 442 patients, 10 columns, read-only."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y
