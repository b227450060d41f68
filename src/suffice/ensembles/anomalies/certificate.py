"""What is known of a threshold, and of the ordinary rows that are below it."""

from __future__ import annotations

from typing import Any

from suffice.ensembles.anomalies.threshold import BestF1, Quantile
from suffice.ensembles.binary_fits import steps
from suffice.fitting.certificate import Certificate

DRAWN = "ordinary rows are taken to be drawn independently, like those of the fit"

JUDGED = (
    DRAWN,
    "model_ has learned a few rows more than the models that judged; with held_out='split' it is "
    "the one that judged",
)

NOTES: dict[str | None, tuple[str, ...]] = {
    "leave-one-out": JUDGED,
    "folds": JUDGED,
    "split": (DRAWN,),
    None: ("rows of the fit raise their own density: of other rows, more are below",),
}
"""What a careful user should know of each way to hold rows out."""


def proof_of_quantile(
    found: Quantile, model: Any, way: str | None, confidence: float
) -> Certificate:
    """Of a threshold that is an order statistic.

    Parameters
    ----------
    found : Quantile
    model : estimator
        Fitted.
    way : {"leave-one-out", "folds", "split"}, or None
        How rows were held out.
    confidence : float
    """
    rows = "of the fit's rows" if way is None else "held-out rows"
    claim = f"δ is the density of rank {found.rank:g} among {found.rows:g} {rows}"
    measures = {"rows": found.rows, "rank": found.rank, "log_threshold": found.offset}
    if way is not None:
        bound = found.rate_bound(confidence)
        claim += _rate_claim(way, bound, confidence)
        measures |= {"rate": found.rate, "rate_bound": bound}
    return _proof(model, claim, way, measures)


def proof_of_f1(best: BestF1, model: Any, way: str | None, confidence: float) -> Certificate:
    """Of a threshold that was chosen by labels; parameters as of `proof_of_quantile`."""
    rows = "the fit's rows" if way is None else "held-out rows"
    claim = f"no δ has a larger F1 on {rows} than {best.f1:.4f}"
    measures = {"rows": best.rows, "log_threshold": best.offset, "f1": best.f1}
    measures |= {"precision": best.precision, "recall": best.recall, "rate": best.flagged}
    if way is not None:
        measures["rate_bound"] = best.rate_bound(confidence)
        claim += _rate_claim(way, measures["rate_bound"], confidence)
    return _proof(model, claim, way, measures)


def _rate_claim(way: str, bound: float, confidence: float) -> str:
    rows = "ordinary rows" if way == "split" else "ordinary rows, judged as these were,"
    return f"; at most {bound:.2%} of {rows} are below, with confidence {confidence:g}"


def _proof(model: Any, claim: str, way: str | None, measures: dict[str, float]) -> Certificate:
    """It holds even if the model is not proved to be what it should be: that is a note."""
    last = steps(model)[-1]
    notes = NOTES[way]
    inner = getattr(last, "certificate_", None)
    if inner is not None and not inner.holds:
        notes += (f"{type(last).__name__}, not proved: {inner.claim}", *inner.notes)
    path = f"{way or 'no rows held out'}, {type(last).__name__}"
    return Certificate(True, claim, path, measures, notes)
