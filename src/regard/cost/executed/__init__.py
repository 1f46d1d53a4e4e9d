"""The cost of what really ran: every operation that torch dispatched, counted by its rule."""

from regard.cost.executed.counter import executed

__all__ = ["executed"]
