"""From scores to outputs: attention over a pattern, its linear form, and the two forms of the lectures."""

from regard.attention import operation as _operation  # noqa: F401 - a saved program needs it
from regard.attention.bias import DistanceBias
from regard.attention.engine import BACKENDS, attend, choose
from regard.attention.flex import block_mask
from regard.attention.linear import operation as _linear_operation  # noqa: F401 - likewise
from regard.attention.linear.attend import linear_attend
from regard.attention.linear.features import elu1, identity, relu
from regard.attention.problem import Choice
from regard.attention.weightless import pooled_attend, self_attend

__all__ = [
    "BACKENDS",
    "Choice",
    "DistanceBias",
    "attend",
    "block_mask",
    "choose",
    "elu1",
    "identity",
    "linear_attend",
    "pooled_attend",
    "relu",
    "self_attend",
]
