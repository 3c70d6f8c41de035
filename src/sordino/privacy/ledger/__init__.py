"""What releases of a person's data have cost, counted durably, refused beyond a limit."""

from sordino.privacy.ledger.account import Cost, Spent
from sordino.privacy.ledger.composition import Guarantee, Limit
from sordino.privacy.ledger.ledger import Ledger

__all__ = ["Cost", "Guarantee", "Ledger", "Limit", "Spent"]
