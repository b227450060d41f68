"""The benchmarks' own code, on data so small that nothing is measured."""

from __future__ import annotations

import pytest

from benchmarks import (
    covertype,
    discriminant,
    growth,
    mixture_growth,
    mixtures,
    svm_growth,
    tree_growth,
    trees,
)
from benchmarks.harness import Bar, Options, timed


def test_growth_makes_a_table_and_a_plot(tmp_path):
    missing = growth.naive_bayes("OracleNB", growth.gaussian)
    chosen = [c for c in growth.CURVES if c.name in ("GaussianNB", "PoissonNB")]
    row = growth.Growth((*chosen, missing), (100, 200), tmp_path / "growth.svg")
    (table,) = row.run(Options())
    assert [cells[:2] for cells in table.cells] == [
        ("GaussianNB", "suffice"),
        ("GaussianNB", "scikit-learn"),
        ("PoissonNB", "suffice"),
    ]
    assert table.heads == ("model", "contender", "100", "200", "p")
    assert all(all(cells) for cells in table.cells)
    assert "](growth.svg)" in table.introduction
    assert row.plot.read_text("utf-8").count("GaussianNB") >= 1


def test_growth_stops_where_it_would_take_too_long(monkeypatch):
    monkeypatch.setattr(growth, "LONGEST", 1e-9)
    found = growth.measured(growth.discriminant("LinearDiscriminantAnalysis", "lsqr"), (60, 120))
    assert {name: [n for n, _ in points] for name, points in found.items()} == {
        "suffice": [60],
        "scikit-learn": [60],
    }


def test_growth_exponents():
    assert growth.exponent([(10, 0.1), (100, 1.0), (1000, 100.0)]) == "2.00"
    assert growth.exponent([(10, 0.1)]) == ""


def test_discriminants_agree():
    for row in discriminant.ROWS:
        X, y = row.data(Options(quick=True))
        answers = [fit(X[:2000], y[:2000]) for fit in (row.ours, *row.peers.values())]
        for answer in answers[1:]:
            assert abs(answer - answers[0]).max() < row.tolerance * abs(answers[0]).max()


def test_growth_of_trees_makes_three_tables_and_a_plot(tmp_path):
    axes = (
        tree_growth.Axis("rows", (200, 400), columns=5),
        tree_growth.Axis("columns", (5, 10), rows=200),
        tree_growth.Axis("depth", (1, 2), rows=200, columns=5),
    )
    row = tree_growth.TreeGrowth(axes, tmp_path / "tree-growth.svg")
    tables = row.run(Options())
    assert [table.heads[1:-1] for table in tables] == [("200", "400"), ("5", "10"), ("1", "2")]
    assert all(table.cells[0][0] == "suffice" and all(table.cells[0]) for table in tables)
    text = row.plot.read_text("utf-8")
    assert len(text) < 60_000
    assert text.count(">seconds<") == 3


def test_growth_of_mixtures_makes_three_tables_and_a_plot(tmp_path, monkeypatch):
    monkeypatch.setattr(mixtures, "THREADS", 1)
    axes = (
        mixture_growth.Growing("rows", (200, 400), columns=3, components=2),
        mixture_growth.Growing("columns", (2, 3), rows=200, components=2),
        mixture_growth.Growing("components", (1, 2), rows=200, columns=3),
    )
    row = mixture_growth.MixtureGrowth(axes, tmp_path / "mixture-growth.svg")
    tables = row.run(Options())
    assert [table.heads[1:-1] for table in tables] == [("200", "400"), ("2", "3"), ("1", "2")]
    assert all(table.cells[0][0] == "suffice" and all(table.cells[0]) for table in tables)
    assert row.plot.read_text("utf-8").count(">seconds<") == 3


def test_growth_of_machines_makes_two_tables_and_a_plot(tmp_path, monkeypatch):
    peers = {name: one for name, one in svm_growth.CONTENDERS.items() if name != "intelex"}
    monkeypatch.setattr(svm_growth, "CONTENDERS", peers)
    row = svm_growth.MachineGrowth((100, 200), tmp_path / "svm-growth.svg")
    tables = row.run(Options())
    assert [table.heads[1:-1] for table in tables] == [("100", "200")] * 2
    assert all(table.cells[0][0] == "suffice" and all(table.cells[0]) for table in tables)
    assert row.plot.read_text("utf-8").count(">seconds<") == 2


def test_mixtures_agree(monkeypatch):
    monkeypatch.setattr(mixtures, "THREADS", 1)
    for row in (row for row in mixtures.ROWS if "scikit-learn" in row.peers):
        X, _ = row.data(Options(quick=True))
        ours, theirs = (fit(X[:3000], None) for fit in (row.ours, row.peers["scikit-learn"]))
        assert abs(ours - theirs).max() < row.tolerance * abs(theirs).max()


def test_trees_are_held_to_the_scores_of_their_peers():
    def scores(*held_out, fitted=1.0):
        return [trees.Scores(fitted, score) for score in held_out]

    peers = scores(0.8, 0.8, 0.8)
    assert trees.shortfall(scores(0.8, 0.81, 0.8), peers) == 0.0
    # Differences of 0.1, 0.2, 0.3: a mean of 0.2, a deviation of 0.1.
    assert trees.shortfall(scores(0.7, 0.6, 0.5), peers) == pytest.approx(0.2 / (0.1 / 3**0.5))
    assert trees.shortfall(scores(0.8, 0.8, 0.8, fitted=0.99), peers) == float("inf")


@pytest.mark.parametrize("data", [trees.clusters, trees.correlated_target])
def test_trees_of_the_benchmarks_fit_every_row_as_their_peers_do(data, monkeypatch):
    monkeypatch.setattr(trees, "sixfold", lambda options: 600)
    monkeypatch.setattr(trees, "rested", timed)
    (row,) = (row for row in trees.ROWS if isinstance(row, trees.Growing) and row.data is data)
    lines = row.run(Options(quick=True))
    assert lines[0].peers == ["scikit-learn"]
    # So few held-out rows decide nothing.
    assert all(line.differences["suffice"] < float("inf") for line in lines)


def test_covertype_without_an_index_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(covertype, "FOLDER", tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    covertype.read.cache_clear()
    row = trees.Growing("covertype", trees.forests, trees.CLASSIFIER, {"scikit-learn": Bar(1.0)})
    (failure,) = row.run(Options())
    assert failure.agrees
    assert "cannot be fetched" in failure.reason
