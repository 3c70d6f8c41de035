"""What a federated training costs in privacy, and what noise leaves of it, before any training."""

from sordino.federated.plan.plan import Plan, RegimePlan, planned
from sordino.federated.plan.question import Question

__all__ = ["Plan", "Question", "RegimePlan", "planned"]
