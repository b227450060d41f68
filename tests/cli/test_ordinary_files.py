"""Every CSV file that statsmodels and scikit-learn bring along, with no option but the target."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
import sklearn
import statsmodels

FOLDERS = {
    "statsmodels": Path(statsmodels.__file__).parent / "datasets",
    "sklearn": Path(sklearn.__file__).parent / "datasets" / "data",
}

NUMBERS = {
    "anes96.csv": "'popul'",  # the quotes are part of the names
    "cancer.csv": "cancer",
    "ccard.csv": "AVGEXP",
    "china_smoking.csv": "smoking_yes_cancer_yes",
    "co2.csv": "co2",
    "committee.csv": "BILLS104",
    "copper.csv": "WORLDCONSUMPTION",
    "cpunish.csv": "INCOME",
    "data.csv": "lrm",
    "elec_equip.csv": "STS.M.I7.W.TOVT.NS0016.4.000",
    "elnino.csv": "DEC",
    "engel.csv": "foodexp",
    "fair.csv": "affairs",
    "fair_pt.csv": "age",
    "fertility.csv": "2008",
    "grunfeld.csv": "invest",
    "heart.csv": "survival",
    "E6.csv": "Dp",
    "E6_jmulti.csv": "Dp",
    "longley.csv": "TOTEMP",
    "macrodata.csv": "realgdp",
    "modechoice.csv": "invc",
    "nile.csv": "volume",
    "randhie.csv": "mdvis",
    "scotvote.csv": "YES",
    "spector.csv": "'GPA'",
    "stackloss.csv": "STACKLOSS",
    "star98.csv": "MATHTOT",
    "statecrime.csv": "murder",
    "strikes.csv": "duration",
    "sunspots.csv": "SUNACTIVITY",
    "diabetes_data_raw.csv.gz": "1",
    "diabetes_target.csv.gz": "1",
    "linnerud_exercise.csv": "Chins",
    "linnerud_physiological.csv": "Waist",
}
"""A target for ridge regression."""

CLASSES = {
    "anes96.csv": "'vote'",
    "ccard.csv": "OWNRENT",
    "committee.csv": "PRESTIGE",
    "cpunish.csv": "SOUTH",
    "fair.csv": "religious",
    "fair_pt.csv": "sex",
    "grunfeld.csv": "firm",
    "heart.csv": "censors",
    "E6.csv": "quarter",
    "modechoice.csv": "choice",
    "spector.csv": "'GRADE'",
    "breast_cancer.csv": "benign",
    "digits.csv.gz": "0",
    "iris.csv": "virginica",  # its first line is no header, but has as many cells as columns
    "wine_data.csv": "class_2",
}
"""A target for classifiers: text, or whole numbers of few values."""

WITHOUT_HEADER = {
    "E6_jmulti.csv": "--no-header",
    "diabetes_data_raw.csv.gz": "--no-header",
    "diabetes_target.csv.gz": "--no-header",
    "digits.csv.gz": "--no-header",
    "breast_cancer.csv": "every row needs one value a column",
    "wine_data.csv": "every row needs one value a column",
}
"""Files whose first line does not name the columns, and what the refusal says."""

REFUSED = {"elec_equip.csv": "'DATE': text with more than 50 values): name some with --features"}
"""Others that need an option: the only column beside the target is one of dates like Jan-1-1995."""


def test_nine_of_ten_need_no_option_but_the_target(run, refused, folder):
    paths = [*FOLDERS["statsmodels"].glob("*/*.csv"), *FOLDERS["sklearn"].glob("*.csv*")]
    names = {path.name for path in paths}
    assert names == NUMBERS.keys() | CLASSES.keys()
    models = {"ridge": NUMBERS, "logistic-regression": CLASSES, "mixed-nb": CLASSES}
    failed = {}
    for path in sorted(paths):
        for model, targets in models.items():
            if path.name not in targets:
                continue
            fit = ("fit", path, "--target", targets[path.name], "--model", model, "--save", "m")
            if run(*fit).code:
                failed[path.name] = refused(*fit)
                continue
            assert run("predict", "m", path, "--output", "p.csv").code == 0
            scores = run("score", "m", path, "--json").json["scores"]
            assert scores["r2" if model == "ridge" else "accuracy"] > 0
    expected = WITHOUT_HEADER | REFUSED
    assert failed.keys() == expected.keys()
    assert all(words in failed[name] for name, words in expected.items()), failed
    assert len(REFUSED) <= 0.1 * len(names - WITHOUT_HEADER.keys())


TEXT = "note: text becomes 3 columns of zeros and ones: city\n"
MARKS = [(",", "."), *product(";\t|", ".,")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_every_dialect(run, folder, encoding):
    cities = ["Köln", "Málaga", "Oslo"] * 10
    frame = pd.DataFrame({"miles": [i / 4 for i in range(30)], "city": cities})
    frame["fare"] = 2.5 * frame["miles"] + frame["city"].map(len) + 0.25
    frame.to_csv("plain.csv", index=False)
    fit = ("--target", "fare", "--model", "ridge", "--folds", "0", "--save", "m")
    predict = ("predict", "m", "--keep", "city", "--output")
    assert run("fit", "plain.csv", *fit).err == TEXT
    run(*predict, "plain.parquet", "plain.csv")
    plain = pd.read_parquet("plain.parquet")
    assert plain["city"].tolist() == cities
    for separator, decimal in MARKS:
        frame.to_csv("other.csv", index=False, sep=separator, decimal=decimal, encoding=encoding)
        outcome = run("fit", "other.csv", *fit)
        usual = (separator, decimal) == (",", ".") and encoding.startswith("utf-8")
        notes = outcome.err.splitlines(keepends=True)
        assert (len(notes), notes[-1]) == (1 if usual else 2, TEXT)
        assert notes[0].startswith("note: the file: ") is not usual
        assert run(*predict, "other.parquet", "other.csv").code == 0
        pd.testing.assert_frame_equal(pd.read_parquet("other.parquet"), plain)
