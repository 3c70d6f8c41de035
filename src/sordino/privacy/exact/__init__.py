"""Samplers of whole numbers whose distribution is exactly the stated one.

Decisions are made in double precision where its error cannot matter, and else with as many
digits and random bits as they need.
"""

from __future__ import annotations

from sordino.privacy.exact.bernoulli import bernoulli
from sordino.privacy.exact.gaussian import discrete_gaussian
from sordino.privacy.exact.laplace import discrete_laplace

__all__ = ["bernoulli", "discrete_gaussian", "discrete_laplace"]
