"""An encoder of ours, and the GRUs that read it as the sheets define them, with the choices that students get wrong.

The encoder is small, and the same in the sandbox and here; the student's GRUs are read by the names that torch
gives their weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import torch
from torch import Tensor

from regard.grade.attending import mapped
from regard.grade.readings import affine_maps
from regard.grade.student import Entry
from regard.grade.task import Mistake

VOCAB, DIM, HIDDEN, OUT, LAYERS = 17, 5, 4, 3, 2
KIT = """
import inspect
import torch
from torch import nn


class Config:
    hidden_size, vocab_size, pad_token_id, num_hidden_layers, max_position_embeddings = DIM, VOCAB, 0, 1, 64

    def to_dict(self):
        return {name: getattr(self, name) for name in ('hidden_size', 'vocab_size', 'pad_token_id', 'num_hidden_layers')}


class States(tuple):
    last_hidden_state = property(lambda self: self[0])
    pooler_output = property(lambda self: self[1])
    hidden_states = property(lambda self: (self[0], self[0]))

    def __getitem__(self, key):
        return getattr(self, key) if isinstance(key, str) else tuple.__getitem__(self, key)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.table_of_words = nn.Parameter(torch.cos(torch.arange(VOCAB * DIM) * 1.7 + 0.3).view(VOCAB, DIM))
        self.mix_of_words = nn.Parameter(1.5 * torch.sin(torch.arange(DIM * DIM) * 2.3 + 0.9).view(DIM, DIM))

    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, **rest):
        x = self.table_of_words[input_ids]
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        share = real[..., None].to(x.dtype)
        mean = (x * share).sum(1, keepdim=True) / share.sum(1, keepdim=True).clamp(min=1)
        place = torch.cos(torch.arange(x.shape[1])[:, None] * 0.7 + torch.arange(DIM) * 1.1)
        states = torch.tanh(x + (mean + place) @ self.mix_of_words)
        return States((states, torch.tanh(states[:, 0] @ self.mix_of_words)))


def takes(model):
    found = inspect.signature(model.forward).parameters.values()
    return [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def encoder():
    return bert


bert = Encoder()
""".replace("VOCAB", str(VOCAB)).replace("DIM", str(DIM))
OWN_NAMES = ("table_of_words", "mix_of_words")
_HERE: dict[str, object] = {}
exec(compile(KIT, "<given>", "exec"), _HERE)
BERT: Callable[..., tuple[Tensor, Tensor]] = _HERE["bert"]  # type: ignore[assignment]

SHALLOW = Mistake("one-layer-only", "one layer of GRUs, whatever n_layers is")
DEEP = Mistake("layers-not-as-asked", "another number of layers of GRUs than n_layers")
ONE_WAY = Mistake("not-bidirectional", "GRUs of one direction, whatever bidirectional is")
OTHER_CELLS = {
    1: Mistake("rnn-in-place-of-gru", "plain recurrences in place of GRUs", {}, "rnn-recurrences"),
    4: Mistake("lstm-in-place-of-gru", "LSTMs in place of GRUs"),
}


@dataclass(frozen=True)
class Scan:
    """One direction of one layer, as torch stores it."""

    w_in: Tensor
    w_state: Tensor
    b_in: Tensor
    b_state: Tensor


@dataclass(frozen=True)
class ReaderMaps:
    """The GRUs, layer by layer and direction by direction, and the linear map behind them."""

    layers: tuple[tuple[Scan, ...], ...]
    out: Tensor

    @property
    def flaw(self) -> Mistake | None:
        """What is wrong with two layers of two directions that look so, whatever they compute."""
        cells = OTHER_CELLS.get(len(self.layers[0][0].w_in) // HIDDEN)
        depth = SHALLOW if len(self.layers) == 1 else DEEP if len(self.layers) != LAYERS else None
        return cells or (ONE_WAY if len(self.layers[0]) == 1 else depth)


def scans(entries: Sequence[Entry]) -> list[Scan]:
    """Every direction of every layer in the order of their names; nn.GRU and nn.GRUCell alike."""
    found: dict[tuple[str, str], dict[str, Tensor]] = {}
    for one in entries:
        match = re.fullmatch(r"(weight|bias)_(ih|hh)(.*)", one.name)
        if match and one.value is not None:
            found.setdefault((one.path, match[3]), {})[f"{match[1]}_{match[2]}"] = one.value
    out = []
    for group in found.values():
        if {"weight_ih", "weight_hh"} <= set(group):
            zero = torch.zeros(len(group["weight_ih"]))
            out.append(
                Scan(
                    group["weight_ih"],
                    group["weight_hh"],
                    group.get("bias_ih", zero),
                    group.get("bias_hh", zero),
                )
            )
    return out


def reader_readings(entries: Sequence[Entry]) -> Iterator[ReaderMaps]:
    """All ways to see these parameters as GRUs and a linear map of their states."""
    every = [one for one in scans(entries) if len(one.w_in) in (HIDDEN, 3 * HIDDEN, 4 * HIDDEN)]
    first = [one for one in every if one.w_in.shape[1] == DIM]
    later = [one for one in every if one.w_in.shape[1] != DIM]
    sides = len(first)
    if not sides:
        return
    stacks = [(tuple(first), *(tuple(later[i : i + sides]) for i in range(0, len(later), sides)))]
    if sides == 2:  # the backward direction first
        stacks += [tuple(layer[::-1] for layer in stacks[0])]
    for width in (HIDDEN * sides, *(n * HIDDEN for n in (1, 2, 4) if n != sides)):
        for m in affine_maps(entries, width):
            if len(m.full) != OUT:
                continue
            blocks = [*m.full[:, :-1].split(HIDDEN, 1)]
            for order in permutations(range(len(blocks))) if len(blocks) == 2 else [range(len(blocks))]:
                for stack in stacks:
                    yield ReaderMaps(stack, torch.cat([*(blocks[i] for i in order), m.full[:, -1:]], 1))


def scan(one: Scan, x: Tensor, state: str = "kept") -> Tensor:
    """States (T, B, h) for x (T, B, c); how many gates there are tells the kind of cell."""
    h, out = x.new_zeros(x.shape[1], HIDDEN), []
    c = h
    for x_t in x:
        h = 0 * h if state == "forgotten" else h
        a, b = x_t @ one.w_in.T + one.b_in, h @ one.w_state.T + one.b_state
        if len(a.T) == HIDDEN:
            h = (a + b).tanh()
        elif len(a.T) == 4 * HIDDEN:
            i, f, g, o = (a + b).chunk(4, -1)
            c = f.sigmoid() * (0 * c if state == "forgotten" else c) + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        else:
            (r_a, z_a, n_a), (r_b, z_b, n_b) = a.chunk(3, -1), b.chunk(3, -1)
            z = (z_a + z_b).sigmoid()
            h = (1 - z) * (n_a + (r_a + r_b).sigmoid() * n_b).tanh() + z * h
        out.append(h)
    return torch.stack(out)


def judge_texts(
    text: Tensor, mask: Tensor | None, maps: ReaderMaps, *, states: str = "last", padding: str = "ignored", encoder: str = "masked",
    reads: str = "all", depth: str = "all", backward: str = "reversed", last: str = "", between: str = "", state: str = "kept",
) -> Tensor:  # fmt: skip
    """Logits (B, out)."""
    if mask is not None and padding == "ignored":  # text by text, each as long as it is
        seen = [_hidden(text[i : i + 1], mask[i : i + 1], encoder)[0] for i in range(len(text))]
        lengths = [int(n) for n in mask.sum(1)]
        rows = [
            _read(one[None, :n], maps, states, reads, depth, backward, between, state)
            for one, n in zip(seen, lengths, strict=True)
        ]
        gathered = torch.cat(rows)
    elif mask is not None and padding in ("one short", "one long", "inverted"):
        change = {
            "one short": lambda n, T: n - 1,
            "one long": lambda n, T: min(T, n + 1),
            "inverted": lambda n, T: max(1, T - n),
        }[padding]
        whole = _hidden(text, mask, encoder)
        rows = [_read(one[None, : change(int(n), text.shape[1])], maps, states, reads, depth, backward, between, state)
                for one, n in zip(whole, mask.sum(1), strict=True)]  # fmt: skip
        gathered = torch.cat(rows)
    else:
        x = _hidden(text, mask, encoder)
        if mask is not None and padding == "zeroed":
            x = x * mask[..., None]
        gathered = _read(x, maps, states, reads, depth, backward, between, state)
    acts = {"relu": torch.relu, "tanh": torch.tanh}
    out = mapped(acts.get(last, lambda z: z)(gathered), maps.out)
    ways = {"sigmoid": torch.sigmoid, "softmax": lambda z: z.softmax(-1), "log softmax": lambda z: z.log_softmax(-1), "first": lambda z: z[:, 0],
            "relu after": torch.relu, "softmax over the batch": lambda z: z.softmax(0), "tanh after": torch.tanh, "axis": lambda z: z[None],
            "argmax": lambda z: z.argmax(-1), "axis last": lambda z: z[:, None]}  # fmt: skip
    return ways.get(last, lambda z: z)(out)


def _hidden(text: Tensor, mask: Tensor | None, encoder: str) -> Tensor:
    given = {"masked": mask, "without mask": None, "inverted": None if mask is None else 1 - mask}[encoder]
    with torch.no_grad():
        return BERT(text, attention_mask=given)[0]


def _read(
    x: Tensor, maps: ReaderMaps, states: str, reads: str, depth: str, backward: str, between: str, state: str
) -> Tensor:
    """The states that the linear map reads, (B, …)."""
    x = {
        "all": lambda z: z, "first token": lambda z: z[:, :1], "without the first": lambda z: z[:, 1:], "zeros": lambda z: 0 * z, "backwards": lambda z: z.flip(1),
        "pooled": lambda z: torch.tanh(z[:, 0] @ BERT.mix_of_words)[:, None],  # type: ignore[attr-defined]
        "words": lambda z: z, "mean": lambda z: z.mean(1, keepdim=True), "normed": lambda z: torch.nn.functional.layer_norm(z, z.shape[-1:]),
        "last token": lambda z: z[:, -1:], "without both ends": lambda z: z[:, 1:-1],
    }[reads](x)  # fmt: skip
    steps = x if reads == "batch as time" else x.transpose(0, 1)  # T B c
    if depth == "batch as time":
        steps = x
    every: list[list[Tensor]] = []
    for layer in maps.layers[:1] if depth == "first" else maps.layers:
        ways = []
        for side, one in enumerate(layer):
            turned = side == 1 and backward != "not reversed"
            out = scan(one, steps.flip(0) if turned else steps, state=state)
            ways.append(out.flip(0) if turned and backward != "not turned back" else out)
        every.append(ways)
        steps = torch.cat(ways, -1)
        steps = torch.relu(steps) if between == "relu" else steps
    top = every[-1]
    ends = [
        [
            way[-1 if side == 0 or backward in ("not turned back", "not reversed") else 0]
            for side, way in enumerate(ways)
        ]
        for ways in every
    ]
    if backward == "not turned back" and len(top) > 1:
        ends[-1] = [top[0][-1], top[1][0 if states == "turned ends" else -1]]
    mine, flat = ends[-1], [one for ways in ends for one in ways]
    stacked = torch.stack(flat)  # as nn.GRU gives them: L·sides B h
    B = stacked.shape[1]
    whole = torch.cat(top, -1)
    found = {
        "last": lambda: torch.cat(mine, -1), "first layer": lambda: torch.cat(ends[0], -1), "last output": lambda: whole[-1], "first output": lambda: whole[0],
        "mean": lambda: whole.mean(0), "max": lambda: whole.amax(0), "sum": lambda: whole.sum(0), "wrong ends": lambda: torch.cat([top[0][0], *(way[-1] for way in top[1:])], -1),
        "forward": lambda: mine[0], "backward": lambda: mine[-1], "forward twice": lambda: torch.cat([mine[0]] * 2, -1), "backward twice": lambda: torch.cat([mine[-1]] * 2, -1),
        "added": lambda: sum(mine, torch.zeros(())), "averaged": lambda: sum(mine, torch.zeros(())) / len(mine), "added twice": lambda: torch.cat([mine[0] + mine[-1]] * 2, -1),
        "reshaped": lambda: torch.stack(mine).reshape(B, -1), "all layers": lambda: torch.cat(flat, -1), "all reshaped": lambda: stacked.reshape(B, -1),
        "first and last": lambda: torch.cat([flat[0], flat[-1]], -1), "first two": lambda: torch.cat([flat[0], flat[1]], -1), "middle": lambda: torch.cat([flat[1], flat[-1]], -1),
        "forward of both layers": lambda: torch.cat([flat[0], flat[-2]], -1), "last output forward": lambda: top[0][-1],
        "mean of states": lambda: stacked.mean(0), "turned ends": lambda: torch.cat([top[0][-1], top[-1][0]], -1),
        "every output": lambda: whole.transpose(0, 1), "swapped middle": lambda: torch.cat([flat[-2], flat[0]], -1), "product": lambda: torch.cat([mine[0] * mine[-1]] * 2, -1),
    }  # fmt: skip
    return found[states]()
