"""A cache for transformers' `generate` that holds what each layer's pattern can still reach."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

from regard.errors import check_int
from regard.hub.attention import PATTERN
from regard.hub.models import NAME, attention_modules, check_model
from regard.hub.rotation import Shift, rotation_of
from regard.hub.slots import SlottedKeys, noted
from regard.layers.slots import Layout
from regard.pattern import Causal, Pattern, Strided, Windowed

POSITIONS = ("text", "cache")


class PatternCache(Cache):
    """The past of a model, layer by layer: as many keys as its pattern can still reach, whatever the length.

    With `positions="cache"` the distance to the first keys is counted in the cache, as StreamingLLM does it;
    with "text", as the pattern and the model have it. `padding` is how many tokens of padding a row may begin
    with, where a pattern keeps first keys: those are then kept for each row.

    >>> from regard.hub import use
    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> config = LlamaConfig(
    ...     vocab_size=8, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, pad_token_id=0
    ... )
    >>> model = LlamaForCausalLM(config)
    >>> _ = use(model, "strided(5) | global(2) & causal")
    >>> cache = PatternCache(model)
    >>> out = model.generate(torch.tensor([[1]]), max_new_tokens=40, eos_token_id=None, past_key_values=cache)
    >>> cache.layers[0].keys.shape, cache.nbytes
    (torch.Size([1, 2, 8, 4]), 1024)
    """

    def __init__(self, model: PreTrainedModel, positions: str = "text", padding: int = 0) -> None:
        check_model(model)
        if positions not in POSITIONS:
            raise ValueError(f"positions must be one of {', '.join(POSITIONS)}, got {positions=}")
        check_int("padding", padding, 0)
        if padding and positions == "cache":
            raise ValueError(f'positions="cache" takes rows without padding, got {padding=}')
        if model.config._attn_implementation != NAME:
            raise ValueError(
                f'PatternCache needs attn_implementation="{NAME}", the model has '
                f'"{model.config._attn_implementation}"'
            )
        super().__init__(layers=[
            PatternLayer(pattern, padding, _shift(model, pattern, i) if positions == "cache" else None)
            for i, pattern in enumerate(layer_patterns(model))
        ])  # fmt: skip

    @property
    def nbytes(self) -> int:
        """The bytes of all keys and values held."""
        return sum(layer.nbytes for layer in self.layers if isinstance(layer, PatternLayer))


class PatternLayer(CacheLayerMixin):
    """The past of one layer: the first keys, then a ring of the latest; all of it where nothing bounds it."""

    is_sliding = False
    is_croppable = True

    def __init__(self, pattern: Pattern, padding: int = 0, shift: Shift | None = None) -> None:
        super().__init__()
        kept = pattern.kept()
        bounded = kept is not None and not kept.other
        self.layout = (
            Layout(kept.first + padding * bool(kept.first), kept.recent) if bounded and kept else None
        )
        self.pattern, self.padding, self.shift = pattern, padding, shift
        self.length, self.record_past = 0, False
        self.positions: Tensor | None = None  # of the keys held

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values held."""
        return sum(x.untyped_storage().nbytes() for x in (self.keys, self.values) if x is not None)

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Begin with nothing, of the kind of these keys and values."""
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys, self.values = key_states[:, :, :0], value_states[:, :, :0]
        self.positions = torch.arange(0, device=self.device)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Take in the next keys and values, and give those that their queries may need."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        assert self.positions is not None
        start, n = self.length, key_states.shape[2]
        self.length += n
        size = None if self.layout is None else self.layout.size
        full = self.layout is not None and n == 1 and len(self.positions) == size and size > 0
        if full and not self.record_past and not key_states.requires_grad:
            assert self.layout is not None
            slot = int(self.layout.slot(start))
            if slot < self.layout.size:  # what a pattern of first keys alone lets go is seen once
                self.keys[:, :, slot], self.values[:, :, slot] = key_states[:, :, 0], value_states[:, :, 0]
                self.positions[slot] = start
                return noted(self.keys, self._note(self.positions, start)), self.values
        new = torch.arange(start, self.length, device=self.device)
        keys = torch.cat([self.keys, key_states], dim=2)
        values = torch.cat([self.values, value_states], dim=2)
        positions = torch.cat([self.positions, new])
        if len(positions) and bool((positions[1:] < positions[:-1]).any()):
            order = positions.argsort()
            keys, values, positions = keys[:, :, order], values[:, :, order], positions[order]
        self.keys, self.values, self.positions = keys, values, positions
        if not self.record_past:
            self._let_go()
        whole = len(positions) == self.length
        if whole and (self.shift is None or self.length <= self.shift.size):
            return keys, values
        return noted(keys, self._note(positions, start)), values

    def _note(self, positions: Tensor, start: int) -> SlottedKeys:
        return SlottedKeys(positions, start, self.pattern, self.padding, self.shift)

    def _let_go(self) -> None:
        """Keep what the next queries may see, each key in its slot."""
        if self.layout is None or self.positions is None or self.keys is None or self.values is None:
            return
        if self.length <= self.layout.size:
            return
        p = self.positions
        index = ((p < self.layout.first) | (p >= self.length - self.layout.recent)).nonzero()[:, 0]
        slots = self.layout.slot(p[index])
        assert isinstance(slots, Tensor)
        index = index[slots.argsort()]
        self.keys, self.values = self.keys[:, :, index], self.values[:, :, index]
        self.positions = p[index]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """As if every key were held: attention asks the keys themselves where they stand."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """How many positions went in."""
        return self.length

    def get_max_length(self) -> int:
        """There is no end."""
        return -1

    def activate_past_recording(self) -> None:
        """Let nothing go until `crop`, so that tokens can be taken back."""
        self.record_past = True

    def crop(self, tokens_to_remove: int) -> None:
        """Take back so many of the latest tokens (a negative number), then let go what is not needed."""
        if tokens_to_remove > 0:
            raise ValueError(
                f"crop takes the number of tokens to take back as a negative, got {tokens_to_remove}"
            )
        if self.positions is None or self.keys is None or self.values is None:
            return
        stop = self.length + tokens_to_remove
        if tokens_to_remove and not self.record_past and len(self.positions) < self.length:
            raise RuntimeError(
                "the keys before these tokens were let go: call activate_past_recording before crop"
            )
        left = (self.positions < stop).nonzero()[:, 0]
        self.keys, self.values = self.keys[:, :, left], self.values[:, :, left]
        self.positions, self.length = self.positions[left], max(0, stop)
        self._let_go()

    def reset(self) -> None:
        """Forget everything."""
        self.keys = self.values = self.positions = None
        self.is_initialized, self.length = False, 0

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row so many times."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.repeat_interleave(repeats, dim=0)
            self.values = self.values.repeat_interleave(repeats, dim=0)

    def batch_select_indices(self, indices: Tensor) -> None:
        """These rows alone."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[indices, ...], self.values[indices, ...]


def layer_patterns(model: PreTrainedModel) -> list[Pattern]:
    """What each layer of a causal model may look at, in the order of the cache."""
    config = model.config.get_text_config()
    out: dict[int, Pattern] = {}
    for name, module in attention_modules(model).items():
        index = getattr(module, "layer_idx", None)
        if index is None or not getattr(module, "is_causal", True):
            raise ValueError(f"PatternCache is for causal models, and {name} is not causal or has no number")
        chosen = getattr(module, PATTERN, None)
        own = own_pattern(config, index)
        out[index] = own if chosen is None else chosen & Causal() if chosen != Causal() else chosen
    missing = set(range(config.num_hidden_layers)) - set(out)
    if missing:
        raise ValueError(
            f"PatternCache needs attention in every layer, {type(model).__name__} has none in {missing}"
        )
    return [out[i] for i in range(config.num_hidden_layers)]


def own_pattern(config: object, layer: int) -> Pattern:
    """The pattern of a layer as its config has it; a mask that says otherwise is noticed in attention."""
    kinds = getattr(config, "layer_types", None)
    window, chunk = getattr(config, "sliding_window", None), getattr(config, "attention_chunk_size", None)
    if kinds is None:
        kind = "sliding_attention" if window else "chunked_attention" if chunk else "full_attention"
    else:
        kind = kinds[layer]
    match kind:
        case "full_attention":
            return Causal()
        case "sliding_attention" if window:
            return Strided(back=window - 1)
        case "chunked_attention" if chunk:
            return Windowed(size=chunk)
    raise ValueError(f"PatternCache does not know layers of {kind}, which layer {layer} is")


def _shift(model: PreTrainedModel, pattern: Pattern, layer: int) -> Shift | None:
    kept = pattern.kept()
    if kept is None or kept.other or not kept.first:
        return None  # nothing is dropped, or no first keys are held: both ways of counting are one
    return Shift(kept.first, kept.total, rotation_of(model, layer))
