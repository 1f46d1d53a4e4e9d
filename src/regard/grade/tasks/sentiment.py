"""BERTGRUSentiment: a frozen encoder, GRUs that read its hidden states, a linear map of their last ones.

The encoder is ours, small, and the same in the sandbox and here; the student's GRUs are read by the names that
torch gives their weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import torch
from torch import Tensor

from regard.grade.attending import mapped
from regard.grade.modules import MIXED, RANDOM, STUCK, first_of, tried_case
from regard.grade.readings import affine_maps
from regard.grade.sandbox import StudentError
from regard.grade.student import Entry, Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Choices,
    Mistake,
    Observed,
    PartPoints,
    Tried,
    Trouble,
    Views,
)
from regard.grade.wire import Foreign, Handle

SKELETON = '''"""Sentiment from a pretrained encoder that stays as it is. nn.GRU or nn.GRUCell; other names are yours."""

import torch
from torch import nn


class BERTGRUSentiment(nn.Module):
    def __init__(self, bert, hidden_dim, output_dim, n_layers, bidirectional, dropout):
        """bert: a module with bert.config.hidden_size; bert(ids, attention_mask=mask)[0] are hidden states (B, T, d)."""
        super().__init__()
        raise NotImplementedError

    def forward(self, text, mask=None):
        """text (B, T) ids -> logits (B, output_dim).

        bert is frozen: no gradient reaches its weights. GRUs of n_layers, in both directions if bidirectional,
        read its hidden states. Dropout, then a linear map, of the last layer's last state: that of the forward
        direction after the last token, beside that of the backward direction after the first.
        mask (B, T), if you take one: 1 for tokens, 0 for padding behind them, which must not change the logits.
        """
        raise NotImplementedError
'''
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
TRAINED = Mistake("encoder-not-frozen", "an encoder that is trained, too: gradient reaches its weights")


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
            out.append(Scan(group["weight_ih"], group["weight_hh"], group.get("bias_ih", zero), group.get("bias_hh", zero)))
    return out


def _readings(entries: Sequence[Entry]) -> Iterator[ReaderMaps]:
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
        rows = [_read(one[None, :n], maps, states, reads, depth, backward, between, state) for one, n in zip(seen, lengths, strict=True)]
        gathered = torch.cat(rows)
    elif mask is not None and padding in ("one short", "one long", "inverted"):
        change = {"one short": lambda n, T: n - 1, "one long": lambda n, T: min(T, n + 1), "inverted": lambda n, T: max(1, T - n)}[padding]
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


def _read(x: Tensor, maps: ReaderMaps, states: str, reads: str, depth: str, backward: str, between: str, state: str) -> Tensor:
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
    ends = [[way[-1 if side == 0 or backward in ("not turned back", "not reversed") else 0] for side, way in enumerate(ways)] for ways in every]
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


def _observe(student: Student) -> Observed:
    student.give(KIT)
    name = student.need(*SPELLINGS)
    generator = student.generator(1)
    made = student.make(name, Foreign("bert"), HIDDEN, OUT, LAYERS, True, 0.5)
    entries = _drawn(student, made)
    tried: list[Tried] = []
    for part, B, T in (("one text", 1, 1), ("one text", 1, 3), ("a batch", 2, 4), ("a batch", 3, 5)):
        text = torch.randint(1, VOCAB, (B, T), generator=generator)
        tried.append(_asked(student, made, part, f"text ({B}, {T})", (text, None)))
    keyword, notes = _mask_word(student, made)
    padded = torch.randint(1, VOCAB, (3, 5), generator=generator)
    mask = (torch.arange(5) < torch.tensor([[2], [5], [4]])).long()
    if keyword:
        for call, rows in (("one text with padding", slice(0, 1)), ("three texts of 2, 5 and 4 tokens", slice(0, 3))):
            tried.append(_asked(student, made, "a batch", call, (padded[rows] * mask[rows], mask[rows]), keyword))
    text = padded
    tried += [
        tried_case(student, Case("as a module", "the gradient of the encoder", (), TRAINED), lambda: _frozen(student, made, text)),
        tried_case(student, Case("as a module", "the gradient of every weight", (), STUCK), lambda: _reached(student, made, text)),
        tried_case(student, Case("as a module", "one text alone and in a batch", (), MIXED), lambda: _apart(student, made, text)),
        tried_case(student, Case("as a module", "the same call twice", (), RANDOM), lambda: _again(student, made, text)),
    ]
    plain, other = _one_way(student, name, generator)
    tried.insert(2, plain)
    found = [Candidate((one, two), one.flaw) for two in other or [None] for one in _readings(entries)]
    return Observed(tuple(tried), tuple(found) or (Candidate(),), notes)


def _one_way(student: Student, name: str, generator: torch.Generator) -> tuple[Tried, list[ReaderMaps]]:
    """Another model, of one layer and one direction."""
    text = torch.randint(1, VOCAB, (2, 3), generator=generator)
    case = Case("one text", "n_layers=1, bidirectional=False, text (2, 3)", (text, None, "one way"))
    try:
        made = student.make(name, Foreign("bert"), HIDDEN, OUT, 1, False, 0.5)
        entries = _drawn(student, made)
    except StudentError as error:
        return (case, Trouble(error.kind, error.text, error.line)), []
    return tried_case(student, case, lambda: {"logits": first_of(student.call(made, text))}), list(_readings(entries))[:4]


def _drawn(student: Student, made: Handle) -> list[Entry]:
    """New random weights for everything but the encoder."""
    generator = student.generator(7)
    values = {}
    for one in student.weights(made):
        if one.value is not None and one.learned and one.name not in OWN_NAMES:
            scale = 0.9 if one.value.ndim > 1 else 0.4
            values[one.full] = scale * torch.randn(one.value.shape, generator=generator)
    student.guest.ask({"do": "set", "target": made, "values": values})
    return [one for one in student.weights(made) if one.name not in OWN_NAMES]


def _mask_word(student: Student, made: Handle) -> tuple[str, tuple[str, ...]]:
    """The argument by which forward takes a mask, if it takes one."""
    found = student.call(Foreign("takes"), made)
    names = [str(one) for one in found] if isinstance(found, list | tuple) else []
    words = [one for one in names[1:] if "mask" in one.lower()]
    if words:
        return words[0], ()
    return "", ("forward takes no mask, so padding is not looked at",)


def _asked(student: Student, made: Handle, part: str, call: str, inputs: tuple[Tensor, Tensor | None], keyword: str = "") -> Tried:
    text, mask = inputs
    named = {keyword: mask} if keyword else None
    return tried_case(student, Case(part, call, inputs), lambda: {"logits": first_of(student.call(made, text, named=named))})


def _gradients(student: Student, made: Handle, text: Tensor) -> dict[str, float]:
    request = {"do": "gradients", "target": made, "args": (text,), "named": {}, "seed": student.seed}
    found = student.guest.ask(request)
    return {str(name): size for name, size in found.items() if isinstance(size, float)} if isinstance(found, dict) else {}


def _frozen(student: Student, made: Handle, text: Tensor) -> Views:
    sizes = _gradients(student, made, text)
    trained = [name for name, size in sizes.items() if name.rpartition(".")[2] in OWN_NAMES and size > 0]
    return {"holds": True if not trained else f"gradient reaches {', '.join(trained)}"}


def _reached(student: Student, made: Handle, text: Tensor) -> Views:
    sizes = {name: size for name, size in _gradients(student, made, text).items() if name.rpartition(".")[2] not in OWN_NAMES}
    lost = [name for name, size in sizes.items() if size < 1e-9]
    lost = lost or ([] if sizes else ["any weight"])
    if lost and sizes:
        entries = {one.full: one.value for one in student.weights(made)}
        lost = [name for name in lost if _counts(student, made, text, name, entries.get(name))]
    return {"holds": True if not lost else f"none reaches {', '.join(lost[:4])}"}


def _counts(student: Student, made: Handle, text: Tensor, name: str, value: Tensor | None) -> bool:
    """Whether the logits change with this weight."""
    if value is None:
        return False
    before = first_of(student.call(made, text))
    student.guest.ask({"do": "set", "target": made, "values": {name: value + 0.5}})
    after = first_of(student.call(made, text))
    student.guest.ask({"do": "set", "target": made, "values": {name: value}})
    return isinstance(before, Tensor) and isinstance(after, Tensor) and bool((before - after).abs().max() > 1e-4)


def _apart(student: Student, made: Handle, text: Tensor) -> Views:
    whole, one = first_of(student.call(made, text)), first_of(student.call(made, text[:1]))
    assert isinstance(whole, Tensor)
    return {"holds": isinstance(one, Tensor) and one.shape == whole[:1].shape and bool(torch.allclose(one, whole[:1], atol=1e-4))}


def _again(student: Student, made: Handle, text: Tensor) -> Views:
    a, b = (first_of(student.guest.call(made, text, seed=seed)) for seed in (1, 2))
    return {"holds": isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape and bool(torch.allclose(a, b, atol=1e-5))}


def _predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    if case.flaw is not None:
        return {"holds": True}
    text, mask, *other = case.inputs
    if not isinstance(candidate.weights, tuple):
        raise ValueError("no reading of the weights fits")
    maps = candidate.weights[1 if other else 0]
    if not isinstance(maps, ReaderMaps):
        raise ValueError("no reading of the weights fits")
    if other and len(maps.layers[0]) != 1:
        raise ValueError("two directions where one is asked for")
    assert isinstance(text, Tensor)
    assert mask is None or isinstance(mask, Tensor)
    return {"logits": judge_texts(text, mask, maps, **{name: str(value) for name, value in choices.items()})}


SPELLINGS = ("BERTGRUSentiment", "BertGRUSentiment", "BERTGRU", "BertGRU", "SentimentGRU")
MISTAKES = tuple(
    Mistake(name, says, choices, lesson)
    for name, says, choices, lesson in (
        ("one-direction", "the last state of the backward direction alone", {"states": "backward"}, ""),
        ("forward-only", "the last state of the forward direction alone", {"states": "forward"}, ""),
        ("forward-twice", "the forward direction's last state twice, in place of both directions'", {"states": "forward twice"}, ""),
        ("backward-twice", "the backward direction's last state twice, in place of both directions'", {"states": "backward twice"}, ""),
        ("first-layer-states", "the last states of the first layer in place of the last layer", {"states": "first layer"}, ""),
        ("layers-mixed", "one direction's state of the first layer beside one of the last", {"states": "first and last"}, ""),
        ("backward-of-both-layers", "the backward states of both layers in place of both directions of the last", {"states": "middle"}, ""),
        ("forward-of-both-layers", "the forward states of both layers in place of both directions of the last", {"states": "forward of both layers"}, ""),
        ("last-output", "the outputs at the last token: the backward direction has read one token alone there", {"states": "last output"}, ""),
        ("last-output-forward", "the forward direction's output at the last token alone", {"states": "last output forward"}, ""),
        ("first-output", "the outputs at the first token: the forward direction has read one token alone there", {"states": "first output"}, ""),
        ("wrong-ends", "both directions' outputs at the end where each has read one token alone", {"states": "wrong ends"}, ""),
        ("mean-output", "the mean of all outputs in place of the last states", {"states": "mean"}, ""),
        ("max-output", "the greatest of all outputs in place of the last states", {"states": "max"}, ""),
        ("sum-output", "the sum of all outputs in place of the last states", {"states": "sum"}, ""),
        ("every-output", "logits for every token in place of one for the text", {"states": "every output"}, ""),
        ("directions-added", "the sum of both directions' states in place of both side by side", {"states": "added"}, ""),
        ("directions-added-twice", "the sum of both directions' states, twice, in place of both side by side", {"states": "added twice"}, ""),
        ("directions-averaged", "the mean of both directions' states in place of both side by side", {"states": "averaged"}, ""),
        ("hidden-reshaped", "states put side by side by a reshape, which mixes examples; exchange the axes first", {"states": "reshaped"}, ""),
        ("all-hidden-reshaped", "all layers' states put side by side by a reshape, which mixes examples", {"states": "all reshaped"}, ""),
        ("all-layers", "the last states of all layers in place of the last layer's", {"states": "all layers"}, ""),
        ("states-averaged", "the mean of all layers' states", {"states": "mean of states"}, ""),
        ("time-as-batch", "a GRU that takes the batch for time: batch_first is missing", {"depth": "batch as time"}, ""),
        ("one-layer-only", "one layer of GRUs, whatever n_layers is", {"depth": "first"}, ""),
        ("backward-not-turned", "backward outputs that are not turned back before the next layer", {"backward": "not turned back"}, ""),
        ("backward-not-turned-ends", "backward outputs that are not turned back, and the first of them is read", {"backward": "not turned back", "states": "turned ends"}, ""),
        ("not-read-backwards", "two directions that both read forwards", {"backward": "not reversed"}, ""),
        ("not-read-backwards-first", "two directions that both read forwards, the second's first state", {"backward": "not reversed", "states": "turned ends"}, ""),
        ("state-forgotten", "cells that begin anew at every token", {"state": "forgotten"}, "rnn-recurrences"),
        ("relu-between-layers", "a relu between the layers", {"between": "relu"}, ""),
        ("pooled-output", "the encoder's pooled output in place of its hidden states", {"reads": "pooled"}, ""),
        ("class-token-only", "the first token's hidden state alone", {"reads": "first token"}, ""),
        ("first-token-skipped", "hidden states without the first token's", {"reads": "without the first"}, ""),
        ("special-tokens-skipped", "hidden states without the first and the last token's", {"reads": "without both ends"}, ""),
        ("mean-read", "the mean of the hidden states in place of one after another", {"reads": "mean"}, ""),
        ("last-token-only", "the last token's hidden state alone", {"reads": "last token"}, ""),
        ("gru-skipped", "a GRU that reads zeros", {"reads": "zeros"}, ""),
        ("states-normed", "a LayerNorm on the hidden states", {"reads": "normed"}, ""),
        ("read-backwards", "the text from its end to its beginning", {"reads": "backwards"}, ""),
        ("sigmoid-added", "a sigmoid of the logits: the loss has its own", {"last": "sigmoid"}, ""),
        ("softmax-added", "a softmax of the logits: the loss has its own", {"last": "softmax"}, ""),
        ("log-softmax-added", "log-probabilities in place of logits", {"last": "log softmax"}, ""),
        ("softmax-over-batch-added", "a softmax over the batch", {"last": "softmax over the batch"}, ""),
        ("tanh-of-logits", "tanh of the logits", {"last": "tanh after"}, ""),
        ("relu-of-logits", "a relu of the logits", {"last": "relu after"}, ""),
        ("relu-added", "a relu between the last states and the linear map", {"last": "relu"}, ""),
        ("tanh-added", "tanh between the last states and the linear map", {"last": "tanh"}, ""),
        ("squeezed", "the first logit alone, without its axis", {"last": "first"}, ""),
        ("axis-added", "logits with one axis too many in front", {"last": "axis"}, ""),
        ("axis-kept", "logits of shape (B, 1, output_dim)", {"last": "axis last"}, ""),
        ("classes-in-place-of-logits", "the likeliest class in place of logits", {"last": "argmax"}, ""),
        ("padding-read", "GRUs that read the padding, too", {"padding": "read"}, ""),
        ("padding-read-by-all", "an encoder and GRUs that read the padding, too", {"padding": "read", "encoder": "without mask"}, ""),
        ("padding-zeroed", "padding that is set to zero, and read all the same", {"padding": "zeroed"}, ""),
        ("encoder-sees-padding", "an encoder that is not told of the padding", {"encoder": "without mask"}, "masks-and-losses"),
        ("mask-inverted", "an encoder that is given the mask the other way round", {"encoder": "inverted"}, "masks-and-losses"),
        ("lengths-one-short", "texts that are read but for their last token", {"padding": "one short"}, ""),
        ("lengths-one-long", "texts that are read with one token of padding", {"padding": "one long"}, ""),
        ("lengths-inverted", "texts as long as their padding", {"padding": "inverted"}, ""),
    )
)  # fmt: skip
TASK = Assignment(
    name="bert-gru", title="BERT and GRU", skeleton=SKELETON, symbols=(SPELLINGS,), lesson="rnn-or-transformer",
    parts=(PartPoints("one text", 2), PartPoints("a batch", 2), PartPoints("as a module", 2)),
    observe=_observe, predict=_predict, mistakes=MISTAKES,
    method=(
        "a small encoder of ours is given; the GRUs' weights are read by torch's names for them, the linear map by shape; "
        "then logits are compared, and gradients of the encoder must be none"
    ),
)  # fmt: skip
