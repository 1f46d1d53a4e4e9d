"""DialogueGPT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.grade.modules import properties
from regard.grade.readings import NormWeights, affine_maps
from regard.grade.student import Entry, Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Mistake,
    Observed,
    PartPoints,
    Trouble,
)
from regard.grade.tasks.stack import (
    PLAIN,
    STACK_MISTAKES,
    StackMaps,
    StackSizes,
    normed,
    predicting,
    single_norms,
    stack_readings,
    transform,
)
from regard.grade.tasks.transformer import asked, fitting_sizes
from regard.grade.tasks.vision import HEAD_MISTAKES, INPUT_MISTAKES, classified

SKELETON = '''"""A transformer that says which token comes next. Transformer, from the earlier task, belongs into this file.

Its inner workings, the names of the parts, and biases are yours.
"""

import torch
from torch import nn


class DialogueGPT(nn.Module):
    def __init__(self, vocab_size, max_N, dim, attn_dim, mlp_dim, num_heads, num_layers):
        """max_N: the longest input; the rest as Transformer takes it."""
        super().__init__()
        raise NotImplementedError

    def forward(self, input_ids, return_attn=False):
        """input_ids (B, T), T <= max_N -> (logits (B, T, vocab_size), weights (B, L, H, T, T) or None).

        A learned embedding of the token plus a learned embedding of its position goes through the transformer,
        where every token sees itself and earlier ones. LayerNorm(dim) and a linear map with weights of its own
        give the logits of the token that follows.
        """
        raise NotImplementedError
'''
VOCAB, CONTEXT = 13, 7
SHORT = Mistake(
    "full-context-only", "something that works only where the input has max_N tokens", {}, "masks-and-losses"
)


@dataclass(frozen=True)
class DialogueMaps:
    """What a language model is made of."""

    tokens: Tensor
    positions: Tensor
    stack: StackMaps
    norm: NormWeights
    head: Tensor


def _readings(entries: Sequence[Entry], sizes: StackSizes) -> Iterator[tuple[DialogueMaps, bool]]:
    """All readings, and whether the head has the embedding's weights."""
    for stack in stack_readings(entries, sizes):
        tables = [e.value for e in stack.rest if e.kind in ("own", "embedding") and e.value is not None]
        words = [one for one in tables if one.shape == (VOCAB, sizes.dim)]
        places = [one.reshape(-1, sizes.dim) for one in tables if one.numel() == CONTEXT * sizes.dim]
        heads = [m.full for m in affine_maps(stack.rest, sizes.dim) if len(m.full) == VOCAB]
        for word in words:
            own = [one for one in heads if not torch.equal(one[:, :-1], word)]
            tied = torch.cat([word, heads[0][:, -1:] if heads else torch.zeros(VOCAB, 1)], 1)
            for head in own or [tied]:
                for norm in single_norms(stack.rest, sizes.dim):
                    for place in places or [torch.zeros(CONTEXT, sizes.dim)]:
                        yield DialogueMaps(word, place, stack, norm, head), not own


def speak(
    ids: Tensor, maps: DialogueMaps, *, position: str = "added", sees: str = "past", head: str = "norm, map",
    enters: str = "as they are", logits: str = "all", words: str = "as they are", **choices: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Logits (B, T, V) and weights (B, L, H, T, T)."""
    B, T = ids.shape
    table = maps.positions
    word = maps.tokens[ids]
    word = (
        word * word.shape[-1] ** 0.5
        if words == "scaled"
        else normed(word, PLAIN)
        if words == "normed"
        else word
    )
    place = {
        "added": lambda: table[:T], "forgotten": lambda: 0 * table[:T], "reversed": lambda: table[:T].flip(0),
        "same": lambda: table[:1], "last": lambda: table[T - 1 : T], "from one": lambda: table.roll(-1, 0)[:T], "from the end": lambda: table[CONTEXT - T :],
        "of tokens": lambda: table[ids % CONTEXT], "of tokens, cut": lambda: table[ids.clamp(max=CONTEXT - 1)],
        "of the batch": lambda: table[:B, None], "twice": lambda: 2 * table[:T], "after": lambda: 0 * table[:T],
        "multiplied": lambda: table[:T], "subtracted": lambda: -table[:T],
    }[position]()  # fmt: skip
    x = word * place if position == "multiplied" else word + place
    x = normed(x, maps.norm) if enters == "normed" else normed(x, PLAIN) if enters == "normed plainly" else x
    ones = torch.ones(T, T)
    mask = {
        "past": ones.tril(), "all": None, "future": ones.triu(), "before": ones.tril(-1), "one ahead": ones.tril(1),
        "last two": ones.tril() - ones.tril(-2), "last three": ones.tril() - ones.tril(-3), "itself": torch.eye(T),
        "after": ones.triu(1),
    }[sees]  # fmt: skip
    y, alphas = transform(x, maps.stack.layers, mask, **choices)
    y = y + table[:T] if position == "after" else y
    y = y + x if head == "input added" else y + word if head == "words added" else y
    last = {
        "last position": lambda z: z[:, -1], "last, with an axis": lambda z: z[:, -1:], "mean": lambda z: z.mean(1), "first": lambda z: z[:, 0],
    }.get(logits, lambda z: z)(y)  # fmt: skip
    if head.endswith("tied"):
        maps = replace(maps, head=torch.cat([maps.tokens, torch.zeros(VOCAB, 1)], 1))
        head = "map" if head.startswith("no norm") else "norm, map"
    out = classified(
        last, maps.norm, maps.head, "norm, map" if head in ("input added", "words added") else head
    )
    ways = {
        "turned": lambda z: z.mT, "shifted": lambda z: z.roll(1, 1), "shifted back": lambda z: z.roll(-1, 1), "without the last": lambda z: z[:, :-1],
        "without the first": lambda z: z[:, 1:], "flat": lambda z: z.flatten(0, 1), "reversed": lambda z: z.flip(1),
        "softmax over time": lambda z: z.softmax(1), "time first": lambda z: z.transpose(0, 1),
    }  # fmt: skip
    return ways.get(logits, lambda z: z)(out), alphas


def _observe(student: Student) -> Observed:
    name = student.need("DialogueGPT", *SPELLINGS)
    start = torch.zeros(1, CONTEXT, dtype=torch.long)
    sizes, notes = fitting_sizes(student, name, lambda s: (VOCAB, CONTEXT, *s.given), start)
    made, entries = student.build(name, VOCAB, CONTEXT, *sizes.given)
    ids = torch.randint(0, VOCAB, (3, CONTEXT), generator=student.generator(1))
    tried = [
        asked(student, made, "logits", "one token", ids[:1, :1]),
        asked(student, made, "logits", "three tokens", ids[:1, :3]),
        asked(student, made, "logits", "ids (2, 5)", ids[1:, :5]),
        asked(student, made, "logits", f"ids (3, {CONTEXT}), max_N tokens", ids),
        asked(student, made, "weights", "three tokens", ids[:1, :3], weights=True),
        asked(student, made, "weights", "ids (2, 4)", ids[1:, :4], weights=True),
        *properties(student, made, "as a module", (ids,)),
    ]
    raised = [isinstance(got, Trouble) for _, got in tried[:4]]
    if raised == [True, True, True, False]:
        tried.append((Case("logits", "fewer tokens than max_N", (), SHORT), {"holds": False}))
    candidates = tuple(
        Candidate(one, TIED if tied else one.stack.flaw) for one, tied in _readings(entries, sizes)
    )
    return Observed(tuple(tried), candidates, notes)


TIED = Mistake("head-tied", "a head with the embedding's weights, where the sheet has weights of its own")
SPELLINGS = ("GPT", "DialogGPT", "LanguageModel")
SEEN_MISTAKES = (
    Mistake("mask-forgotten", "attention without the causal mask: every token sees those after it", {"sees": "all"}, "masks-and-losses"),
    Mistake("mask-transposed", "attention with the causal mask transposed: every token sees itself and later ones", {"sees": "future"}, "masks-and-losses"),
    Mistake("mask-without-self", "a causal mask without the diagonal: no token sees itself", {"sees": "before"}, "masks-and-losses"),
    Mistake("mask-without-self-uniform", "a causal mask without the diagonal: the first token sees nothing, and its weights are uniform", {"sees": "before", "masked": "before, uniform"}, "masks-and-losses"),
    Mistake("mask-without-self-nan", "a causal mask without the diagonal: the first token sees nothing, and everything is NaN", {"sees": "before", "masked": "before, −∞"}, "masks-and-losses"),
    Mistake("mask-one-ahead", "a causal mask that is one too wide: every token sees the next, which is the answer", {"sees": "one ahead"}, "masks-and-losses"),
    Mistake("mask-inverted-nan", "a causal mask read the other way round: tokens see later ones alone, and the last sees nothing (NaN)", {"sees": "after", "masked": "before, −∞"}, "masks-and-losses"),
    Mistake("mask-inverted", "a causal mask read the other way round: tokens see later ones alone", {"sees": "after", "masked": "before, uniform"}, "masks-and-losses"),
    Mistake("mask-window", "tokens that see themselves and the one before alone", {"sees": "last two"}, "masks-and-losses"),
    Mistake("mask-window-three", "tokens that see themselves and the two before alone", {"sees": "last three"}, "masks-and-losses"),
    Mistake("mask-diagonal", "tokens that see themselves alone", {"sees": "itself"}, "masks-and-losses"),
    Mistake("mask-after-softmax", "a causal mask that is applied after the softmax: rows no longer sum to one", {"masked": "after"}, "masks-and-losses"),
    Mistake("mask-minus-one", "a causal mask with −1 in place of −∞", {"masked": "minus one"}, "masks-and-losses"),
    Mistake("mask-zero", "a causal mask with the score 0 in place of −∞", {"masked": "zero"}, "masks-and-losses"),
    Mistake("mask-added", "a causal mask of ones and zeros that is added to the scores", {"masked": "added"}, "masks-and-losses"),
    Mistake("mask-not-low-enough", "a causal mask with −10 in place of −∞", {"masked": "least of all"}, "masks-and-losses"),
    Mistake("mask-first-layer-only", "a causal mask that only the first layer uses", {"masks": "first"}, "masks-and-losses"),
    Mistake("mask-not-in-first-layer", "a causal mask that the first layer does not use", {"masks": "rest"}, "masks-and-losses"),
)  # fmt: skip
PLACE_MISTAKES = tuple(
    Mistake(name, says, {"position": how}, "positions")
    for name, says, how in (
        ("positions-forgotten", "tokens without positions", "forgotten"),
        (
            "position-after-transformer",
            "positions that are added after the transformer, where attention no longer sees them",
            "after",
        ),
        ("positions-reversed", "positions that count from the end of the input", "reversed"),
        ("position-same", "the first position for every token", "same"),
        ("position-last", "the last position for every token", "last"),
        ("positions-from-one", "positions that count from one: the first has index 0", "from one"),
        ("positions-from-end", "the last positions of max_N in place of the first", "from the end"),
        ("positions-of-tokens", "the position table looked up by token and not by place", "of tokens"),
        (
            "positions-of-tokens-cut",
            "the position table looked up by token and not by place",
            "of tokens, cut",
        ),
        ("positions-of-batch", "positions that count examples of the batch and not tokens", "of the batch"),
        ("positions-multiplied", "positions that are multiplied in place of added", "multiplied"),
        ("positions-twice", "positions that are added twice", "twice"),
        ("positions-subtracted", "positions that are subtracted", "subtracted"),
    )
)
LOGIT_MISTAKES = (
    Mistake("last-position-only", "logits of the last position alone", {"logits": "last position"}),
    Mistake("last-position-with-axis", "logits of the last position alone, (B, 1, vocab_size)", {"logits": "last, with an axis"}),
    Mistake("first-position-only", "logits of the first position alone", {"logits": "first"}),
    Mistake("positions-averaged", "logits of the mean of all positions", {"logits": "mean"}),
    Mistake("shifted-logits", "logits that are moved on by one position: shifting is the loss's affair", {"logits": "shifted"}),
    Mistake("logits-shifted-back", "logits that are moved back by one position: shifting is the loss's affair", {"logits": "shifted back"}),
    Mistake("last-logit-dropped", "logits without those of the last position, which generation needs", {"logits": "without the last"}),
    Mistake("first-logit-dropped", "logits without those of the first position", {"logits": "without the first"}),
    Mistake("logits-transposed", "logits of shape (B, vocab_size, T)", {"logits": "turned"}),
    Mistake("logits-flat", "logits of shape (B·T, vocab_size): reshaping is the loss's affair", {"logits": "flat"}),
    Mistake("logits-reversed", "logits from the last position to the first", {"logits": "reversed"}),
    Mistake("logits-time-first", "logits of shape (T, B, vocab_size)", {"logits": "time first"}),
    Mistake("softmax-over-time", "a softmax over positions in place of logits", {"logits": "softmax over time"}),
    Mistake("tokens-added-to-output", "a head that reads the transformer's output plus the tokens' embeddings", {"head": "words added"}),
    Mistake("input-added-to-output", "a head that reads the transformer's output plus its input", {"head": "input added"}),
    Mistake("head-tied", TIED.says, {"head": "norm, tied"}),
    Mistake("head-tied-norm-missing", f"{TIED.says}, and no LayerNorm", {"head": "no norm, tied"}),
    Mistake("embedding-scaled", "token embeddings times √dim", {"words": "scaled"}),
    Mistake("embedding-normed", "a LayerNorm on the tokens' embeddings, where the sheet has none", {"words": "normed"}),
)  # fmt: skip
TASK = Assignment(
    name="dialogue-gpt", title="DialogueGPT", skeleton=SKELETON, symbols=(("DialogueGPT", *SPELLINGS),), lesson="masks-and-losses",
    parts=(PartPoints("logits", 4), PartPoints("weights", 1), PartPoints("as a module", 1)),
    observe=_observe, predict=predicting(DialogueMaps, speak), accepts=({"activation": "tanh gelu"},),
    mistakes=(*SEEN_MISTAKES, *PLACE_MISTAKES, *LOGIT_MISTAKES, *HEAD_MISTAKES, *INPUT_MISTAKES, *STACK_MISTAKES),
    method=(
        "embeddings, layers and head are found among the parameters by shape and search; then logits and weights "
        "are compared with the definition that has them"
    ),
)  # fmt: skip
