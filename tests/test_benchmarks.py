"""The benchmarks' own code, on data so small that nothing is measured."""

from __future__ import annotations

from benchmarks import discriminant, growth
from benchmarks.harness import Options


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
