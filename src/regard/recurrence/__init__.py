"""State updates along a sequence and over a grid: plain loops that define, and fast ways to the same."""

from regard.recurrence.activation import ACTIVATIONS, activation_by_name, identity
from regard.recurrence.contribution import Contribution, contribution
from regard.recurrence.grid import STARTS, GridChoice, choose, grid_rnn
from regard.recurrence.linear import linear_rnn
from regard.recurrence.scalar import ScalarRecurrence
from regard.recurrence.sequence import readout, rnn

__all__ = [
    "ACTIVATIONS",
    "STARTS",
    "Contribution",
    "GridChoice",
    "ScalarRecurrence",
    "activation_by_name",
    "choose",
    "contribution",
    "grid_rnn",
    "identity",
    "linear_rnn",
    "readout",
    "rnn",
]
