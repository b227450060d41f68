"""The loss of a generalised linear model: half the unit deviance, as a function of η.

    ℓ(y, η) = ½ d(y, g⁻¹(η)),      ℓ′ = −(y − μ) μ′ / V(μ),      E[ℓ″] = μ′² / V(μ)

Under the canonical link ℓ″ does not depend on y: observed and expected second derivative are
one.  Under others the observed one may be negative far from the minimum, where Newton's method
falls back on the expected one (Fisher scoring).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.linear.glm.links import LINKS, SMALLEST, Link, named_link
from suffice.linear.glm.responses.base import Response
from suffice.linear.glm.responses.named import RESPONSES, GaussianResponse, NegativeBinomialResponse
from suffice.linear.glm.responses.power_variance import TweedieResponse
from suffice.numerics.double_double import Array
from suffice.statistics.curvature import Derivatives


@dataclass(frozen=True)
class GeneralizedLoss:
    """Half the unit deviance, up to a term in y alone; see `suffice.statistics.curvature.Loss`.

    Attributes
    ----------
    response : Response
    link : Link
    expected : bool
        Whether the second derivative is the expected one.
    """

    response: Response
    link: Link
    expected: bool = False

    n_predictors = 1

    @classmethod
    def of(cls, response: Response, link: Link) -> GeneralizedLoss:
        """The loss of a response under a link."""
        return cls(response, link, expected=response.canonical == link)

    def __call__(self, y: Array, eta: Array, order: int) -> Derivatives:
        low, high = self.bounds
        with np.errstate(all="ignore"):
            found = self.response.derivatives(y, self.link, eta[0], order, self.expected)
        if np.isfinite(low) or np.isfinite(high):
            outside = (eta[0] <= low) | (eta[0] >= high)
            if outside.any():
                return found._replace(value=np.where(outside, np.inf, found.value))
        return found

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which predictors the mean is one that the response can have."""
        return self.link.interval(self.response.domain)

    @property
    def is_bounded(self) -> bool:
        return bool(np.isfinite(self.bounds).any())

    def mean(self, eta: Array) -> Array:
        """μ for any η, within the response's domain and float64's range."""
        low, high = self.bounds
        with np.errstate(all="ignore"):
            inside = np.clip(eta, low + SMALLEST, high)
            return self.response.clipped(np.asarray(self.link.mean(inside).value))

    def deviance(self, y: Array, mu: Array) -> Array:
        """The unit deviance of each row."""
        with np.errstate(all="ignore"):
            return self.response.unit_deviance(y, self.response.clipped(mu))


def chosen_response(family: Any, power: float, overdispersion: float) -> Response:
    """The response that a user asks for, by name or as an object."""
    if isinstance(family, Response):
        return family
    if family in ("categorical", "multinomial"):
        raise ValueError(
            f"family={family!r}: labels without an order are for LogisticRegression; with C=np.inf "
            "and reference_class=… it fits their log odds against one class, without a penalty"
        )
    if family not in RESPONSES:
        raise ValueError(
            f"family={family!r} is not known; there are {', '.join(map(repr, RESPONSES))}, and the "
            "classes in suffice.linear.glm.responses.named"
        )
    if family == "tweedie":
        return GaussianResponse() if power == 0 else TweedieResponse(float(power))
    if family == "negative_binomial":
        return NegativeBinomialResponse(float(overdispersion))
    return RESPONSES[family]()


def chosen_link(link: Any, response: Response) -> Link:
    """The link that a user asks for, by name or as an object, if it suits the response."""
    if isinstance(link, Link):
        found = link
    elif link == "default":
        found = response.default_link
    elif link == "canonical":
        if response.canonical is None:
            raise ValueError(
                f"link='canonical' is not offered for family={response.name!r}: its natural "
                "parameter must be negative and depends on the overdispersion; use 'log'"
            )
        found = response.canonical
    else:
        found = named_link(link)
    if response.domain != "unit" and found in PROBABILITY_LINKS:
        raise ValueError(
            f"link={found.name!r} is for means between 0 and 1, and those of "
            f"family={response.name!r} are not; it goes with family='binomial'"
        )
    return found


PROBABILITY_LINKS = tuple(LINKS[name] for name in ("logit", "probit", "cloglog", "loglog"))
