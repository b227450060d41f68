"""A certificate: what it says, to people and to programs, and that nobody can change it."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from suffice import LinearRegression, Ridge
from suffice.fitting.certificate import (
    ENOUGH_DIGITS,
    MOST_DIGITS,
    Certificate,
    digits_within,
    rounded_down,
)
from suffice.fitting.one_pass import Solved


@pytest.fixture
def certificate():
    measures = {"gradient": 2e-12, "steps": 7}
    return Certificate(True, "the gradient vanishes", "Newton", measures, ("one restart",))


def test_measures_are_attributes(certificate):
    assert certificate.gradient == certificate.measures["gradient"] == 2e-12
    assert certificate.steps == 7
    assert list(certificate.measures) == ["gradient", "steps"]


def test_an_unknown_measure(certificate):
    assert not hasattr(certificate, "digits")
    with pytest.raises(AttributeError, match=r"no measure 'digits'; it has gradient, steps"):
        _ = certificate.digits
    with pytest.raises(AttributeError, match=r"it has none"):
        _ = Certificate(True, "nothing", "by thought").digits
    assert getattr(certificate, "digits", None) is None


def test_it_reads_well(certificate):
    assert str(certificate).splitlines() == [
        "holds: the gradient vanishes",
        "  path      Newton",
        "  gradient  2e-12",
        "  steps     7",
        "  note      one restart",
    ]
    failed = dataclasses.replace(certificate, holds=False, notes=())
    assert str(failed).startswith("DOES NOT HOLD: the gradient vanishes\n")
    assert "note" not in str(failed)
    for part in ("Certificate", "holds=True", "'Newton'", "2e-12", "one restart"):
        assert part in repr(certificate)


@pytest.mark.parametrize(
    "duplicate",
    [
        *[
            lambda c, p=p: pickle.loads(pickle.dumps(c, p))
            for p in range(pickle.HIGHEST_PROTOCOL + 1)
        ],
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
    ],
)
def test_duplicates_are_equal(certificate, duplicate):
    same = duplicate(certificate)
    assert same == certificate
    assert same.gradient == 2e-12
    assert str(same) == str(certificate)
    assert same.notes == ("one restart",)


def test_differences_matter(certificate):
    for change in (
        {"holds": False},
        {"claim": "else"},
        {"path": "by hand"},
        {"measures": {"gradient": 2e-12}},
        {"notes": ()},
    ):
        assert dataclasses.replace(certificate, **change) != certificate


def test_it_is_frozen(certificate):
    for name in ("holds", "claim", "measures", "gradient", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(certificate, name, False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del certificate.holds
    with pytest.raises(TypeError):
        certificate.measures["gradient"] = 0.0


def test_it_keeps_its_own_measures():
    measures = {"gradient": 1.0}
    certificate = Certificate(True, "a", "b", measures)
    measures["gradient"] = 2.0
    assert certificate.gradient == 1.0


@pytest.mark.parametrize("model", [LinearRegression(), Ridge()])
def test_those_of_models(model, diabetes):
    certificate = model.fit(*diabetes).certificate_
    assert certificate.holds
    assert certificate.digits > 12
    assert certificate.rank == 10
    assert str(certificate).startswith("holds: the minimiser")
    assert pickle.loads(pickle.dumps(certificate)) == certificate


def test_one_that_does_not_hold():
    t = np.linspace(1, 2, 30)
    with pytest.warns(Warning, match="LinearRegression: not proved: the minimiser") as warned:
        model = LinearRegression().fit(np.vander(t, 16), np.sin(t))
    assert not model.certificate_.holds
    assert [w.category.__name__ for w in warned] == ["ConvergenceWarning"]
    assert warned[0].filename == __file__
    for note in model.certificate_.notes:
        assert note in str(warned[0].message)


def test_digits_of_an_error():
    assert digits_within(1e-12) == pytest.approx(12.0)
    assert digits_within(3.0) == 0.0
    assert digits_within(1e-40) == MOST_DIGITS
    assert digits_within(np.inf) == digits_within(np.nan) == 0.0


def test_a_claim_never_shows_more_digits_than_there_are():
    assert rounded_down(7.9999) == "7.9"
    assert rounded_down(15.6) == "15.6"
    assert rounded_down(0.0) == "0.0"


@pytest.mark.parametrize(
    ("digits", "precision", "enough"),
    [
        (ENOUGH_DIGITS, "float64", True),
        (ENOUGH_DIGITS - 0.1, "float64", False),
        (0.0, "double-double", True),
    ],
)
def test_too_few_digits_in_float64_ask_for_more(digits, precision, enough):
    solved = Solved(Certificate(True, "all is well", "by thought", {"digits": digits}), 1.0)
    assert solved.if_enough_digits(precision, final=False) is (solved if enough else None)
    assert solved.if_enough_digits(precision, final=True) is solved
