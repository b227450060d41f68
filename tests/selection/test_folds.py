"""What splitters do, in layers of groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import model_selection
from sklearn.model_selection import check_cv

from suffice.selection.folds import folds_of

N = 60
X = np.empty((N, 0))
GROUPS = np.arange(N) // 7
LABELS = np.arange(N) % 3

PARTITIONS = [
    model_selection.KFold(7),
    model_selection.KFold(5, shuffle=True, random_state=0),
    model_selection.StratifiedKFold(4, shuffle=True, random_state=0),
    model_selection.GroupKFold(3),
    model_selection.StratifiedGroupKFold(3),
    model_selection.LeaveOneGroupOut(),
    model_selection.LeaveOneOut(),
    model_selection.PredefinedSplit(np.arange(N) % 6 - 2),
]
OTHERS = [
    model_selection.ShuffleSplit(5, random_state=0),
    model_selection.ShuffleSplit(5, train_size=0.3, test_size=0.1, random_state=0),
    model_selection.StratifiedShuffleSplit(3, random_state=0),
    model_selection.GroupShuffleSplit(3, random_state=0),
    model_selection.LeavePGroupsOut(2),
    model_selection.TimeSeriesSplit(4),
    model_selection.TimeSeriesSplit(4, gap=3, max_train_size=9),
    model_selection.RepeatedKFold(n_splits=3, n_repeats=4, random_state=0),
    model_selection.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
]


def same_splits(folds, splits):
    assert folds.n_splits == len(splits)
    for number, (train, test) in enumerate(splits):
        np.testing.assert_array_equal(folds.train(number), np.sort(train))
        np.testing.assert_array_equal(folds.test(number), np.sort(test))
    assert folds.fewest_trained == min(len(train) for train, _ in splits)
    for group, size in zip(folds.layers, folds.sizes, strict=True):
        assert group.shape == (N,)
        assert 0 <= group.min() <= group.max() < size


@pytest.mark.parametrize("cv", PARTITIONS, ids=lambda cv: type(cv).__name__)
def test_partitions_are_one_layer(cv):
    groups = None if type(cv).__name__ in {"KFold", "LeaveOneOut"} else GROUPS
    if "Group" not in type(cv).__name__:
        groups = None
    folds = folds_of(cv, X, LABELS, groups, N)
    assert len(folds.layers) == 1
    assert all(split.train is None and len(split.test) == 1 for split in folds.splits)
    same_splits(folds, list(cv.split(X, LABELS, groups)))


@pytest.mark.parametrize("cv", OTHERS, ids=lambda cv: type(cv).__name__)
def test_other_splitters(cv):
    groups = GROUPS if "Group" in type(cv).__name__ else None
    folds = folds_of(cv, X, LABELS, groups, N)
    same_splits(folds, list(cv.split(X, LABELS, groups)))


def test_repetitions_are_layers_and_windows_share_one():
    repeated = model_selection.RepeatedKFold(n_splits=10, n_repeats=3, random_state=0)
    assert folds_of(repeated, X, None, None, N).sizes == (10, 10, 10)
    windows = model_selection.TimeSeriesSplit(5)
    assert folds_of(windows, X, None, None, N).sizes == (6,)


roles = st.lists(st.integers(0, 3), min_size=N, max_size=N).map(np.array)


@given(st.lists(roles, min_size=1, max_size=6))
def test_any_splits(given_roles):
    splits = [(np.flatnonzero(r & 1), np.flatnonzero(r & 2)) for r in given_roles]
    folds = folds_of(check_cv(splits), X, None, None, N)
    if any(len(train) == 0 or len(test) == 0 for train, test in splits):
        assert folds is None
    else:
        same_splits(folds, splits)


def test_masks_lists_and_counting_from_the_end():
    mask = np.arange(N) < 20
    for split in ((~mask, mask), (np.arange(-40, 0), np.arange(20)), (list(range(20, N)),
                  list(range(20)))):  # fmt: skip
        same_splits(
            folds_of(check_cv([split]), X, None, None, N), [(np.arange(20, N), np.arange(20))]
        )


def test_repeated_rows_and_empty_splits_are_refused():
    whole = np.arange(N)
    for train, test in (
        (np.r_[0, 0, 1:30], np.arange(30, N)),
        (np.arange(30), np.r_[30, 30]),
        (whole[:0], whole),
        (whole, whole[:0]),
        ([], whole),
    ):
        good = (np.arange(30), np.arange(30, N))
        assert folds_of(check_cv([good, (train, test)]), X, None, None, N) is None


def test_splitters_that_say_one_thing_and_do_another():
    class Two(model_selection.KFold):
        def get_n_splits(self, *args):
            return 2

    with pytest.raises(ValueError, match="Expected 2 splits, got 3"):
        folds_of(Two(3), X, None, None, N)
    with pytest.raises(ValueError, match="No fits were performed"):
        folds_of(check_cv([]), X, None, None, N)
    with pytest.raises(ValueError, match="greater than the number of samples"):
        folds_of(model_selection.KFold(5), X[:3], None, None, 3)
    with pytest.raises(ValueError, match="LeaveOneOut with n_samples=1"):
        folds_of(model_selection.LeaveOneOut(), X[:1], None, None, 1)
