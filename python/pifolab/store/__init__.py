"""A folder of finished runs that survives a crash of any of its writers; see docs/results.md."""

from pifolab.store.lock import RunLock
from pifolab.store.store import Store, StoreError, StoreFullError

__all__ = ["RunLock", "Store", "StoreError", "StoreFullError"]
