"""Who may look at whom: attention patterns as values that draw, count, mask, tile and bound themselves."""

from regard.pattern.anchored import Documents, Global, Prefix, RandomBlocks
from regard.pattern.base import And, Atom, Not, Or, Pattern
from regard.pattern.checking import check_pattern
from regard.pattern.dealing import Deal
from regard.pattern.exchange import Exchange
from regard.pattern.grid import Axial, Neighbourhood
from regard.pattern.sequence import Causal, Dilated, Full, Local, SparseStrided, Strided
from regard.pattern.spans import CacheBound, Span
from regard.pattern.text import parse
from regard.pattern.tiling import TileMap
from regard.pattern.windows import Blocks, SparseFixed, Windowed

__all__ = [
    "And",
    "Atom",
    "Axial",
    "Blocks",
    "CacheBound",
    "Causal",
    "Deal",
    "Dilated",
    "Documents",
    "Exchange",
    "Full",
    "Global",
    "Local",
    "Neighbourhood",
    "Not",
    "Or",
    "Pattern",
    "Prefix",
    "RandomBlocks",
    "Span",
    "SparseFixed",
    "SparseStrided",
    "Strided",
    "TileMap",
    "Windowed",
    "check_pattern",
    "parse",
]
