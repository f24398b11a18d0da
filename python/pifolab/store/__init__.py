"""A folder of finished runs that survives whatever happens to those who write it; see docs/results.md."""

from pifolab.store.claims import Claim
from pifolab.store.store import Store, StoreError, StoreFullError

__all__ = ["Claim", "Store", "StoreError", "StoreFullError"]
