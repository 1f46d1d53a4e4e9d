"""generate: the likeliest next token, again and again; a method of DialogueGPT or a function of a model.

The model is ours: its logits are a known function of what stands before, so that every mistake can be predicted.
It is put in place of the `forward` of the student's own model where `generate` is a method.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.grade.modules import RANDOM, tried_case
from regard.grade.sandbox import StudentError
from regard.grade.student import Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Choices,
    Mistake,
    Observed,
    PartPoints,
    Tried,
    Views,
)
from regard.grade.wire import Foreign, Handle

SKELETON = '''"""Text, token by token. As a function, or as a method DialogueGPT.generate(self, input_ids, num_tokens)."""

import torch


def generate(model, input_ids, num_tokens):
    """input_ids (B, T) -> (B, T + num_tokens): the prompt, and num_tokens more tokens.

    model(input_ids) gives (logits (B, T, vocab_size), weights); logit i is about token i+1. Each new token is the
    likeliest, given all tokens before it, the new ones included. T + num_tokens is at most the model's max_N.
    """
    raise NotImplementedError
'''
VOCAB, CONTEXT, SPECIALS = 11, 10, 3
KIT = """
import torch
from torch import nn


def known_logits(ids):
    weight = (torch.arange(ids.shape[1]) + 2) ** 2
    seen = 1 + ((ids.long() + 1) * weight).cumsum(1) % 100
    numbers = 2 * torch.arange(VOCAB) + 3
    return (seen[..., None] * numbers % 101).float() / 10


class Known(nn.Module):
    def __init__(self, bare):
        super().__init__()
        self.bare, self.max_N, self.vocab_size, self.calls = bare, CONTEXT, VOCAB, 0
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, input_ids, return_attn=False):
        self.calls += 1
        if input_ids.shape[1] > CONTEXT:
            raise ValueError('the input is longer than max_N')
        logits = known_logits(input_ids)
        if self.bare and not return_attn:
            return logits
        return logits, torch.ones(len(input_ids), 1, 1, *input_ids.shape[1:], *input_ids.shape[1:]) if return_attn else None


def placed(model):
    with torch.no_grad():
        bare = isinstance(model(torch.zeros(1, 2, dtype=torch.long)), torch.Tensor)
    known = Known(bare)
    model.known_calls = lambda: known.calls
    object.__setattr__(model, 'forward', known.forward)
    return bare


pair, alone = Known(False), Known(True)
""".replace("VOCAB", str(VOCAB)).replace("CONTEXT", str(CONTEXT))
_KNOWN: dict[str, object] = {}
exec(compile(KIT, "<given>", "exec"), _KNOWN)
known_logits: Callable[[Tensor], Tensor] = _KNOWN["known_logits"]  # type: ignore[assignment]
Logits = Callable[[Tensor], Tensor]


def written_on(
    logits_of: Logits, ids: Tensor, count: int, *, context: str = "all", row: str = "last", pick: str = "likeliest",
    joins: str = "behind", many: str = "as asked", gives: str = "all", refresh: str = "each", stops: str = "",
) -> Tensor:  # fmt: skip
    """The prompt and what follows."""
    prompt, T = ids, ids.shape[1]
    steps = {"as asked": count, "one less": count - 1, "one more": count + 1, "in all": count - T, "one": 1}[
        many
    ]
    new: list[Tensor] = []
    found = ids[:, :0]
    for step in range(steps):
        if step == 0 or refresh == "each" or (refresh == "every second" and step % 2 == 0):
            logits = logits_of(_seen(ids, context, T, T + count))  # B T V
        at = ids.shape[1] - 1 if context == "blanks" and row != "last of all" else -1
        token = _picked(_row(logits, row, at, step), logits, pick, ids)
        if stops and (token == int(stops)).any():
            break
        new.append(token)
        ids = _joined(ids, token, joins)
        found = token
    told = torch.cat([prompt[:, :0], *new], 1)
    return {
        "all": lambda: ids, "new": lambda: told, "last": lambda: found, "first row": lambda: ids[0], "first rows": lambda: ids[:1],
        "last as many": lambda: ids[:, -count:], "prompt and last": lambda: torch.cat([prompt, found], 1), "flat": ids.flatten,
        "without the last": lambda: ids[:, :-1], "joined": lambda: torch.cat([prompt, told], 1), "turned": lambda: ids.T,
        "last is blank": lambda: torch.cat([ids[:, :-1], 0 * ids[:, -1:]], 1), "without the first": lambda: ids[:, 1:], "new, flat": told.flatten, "last prompt token too": lambda: torch.cat([prompt[:, -1:], told], 1),
    }[gives]()  # fmt: skip


def _seen(ids: Tensor, context: str, T: int, whole: int) -> Tensor:
    """What the model is given of the text so far, whose prompt has T tokens."""
    if context == "blanks":
        return torch.cat([ids, torch.zeros(len(ids), whole - ids.shape[1], dtype=ids.dtype)], 1)
    return {
        "all": ids, "last token": ids[:, -1:], "last two": ids[:, -2:], "last three": ids[:, -3:], "without the last": ids[:, :-1],
        "without the first": ids[:, 1:], "length of the prompt": ids[:, -T:], "first example": ids[:1].expand_as(ids),
        "new tokens": ids[:, T - 1 :], "reversed": ids.flip(1),
    }[context]  # fmt: skip


def _row(logits: Tensor, row: str, at: int, step: int) -> Tensor:
    """The logits (B, V) that a token is chosen by; `at` is the position of the last token."""
    ways: dict[str, Logits] = {
        "last": lambda z: z[:, at], "last of all": lambda z: z[:, -1], "first": lambda z: z[:, 0], "second to last": lambda z: z[:, at - 1],
        "mean": lambda z: z.mean(1), "softmax over time": lambda z: z.softmax(1)[:, at], "by step": lambda z: z[:, step], "max": lambda z: z.amax(1),
    }  # fmt: skip
    return ways[row](logits)


def _joined(ids: Tensor, token: Tensor, joins: str) -> Tensor:
    """The text with the new token."""
    parts = {
        "behind": [ids, token], "in front": [token, ids], "twice": [ids, token, token], "slides": [ids[:, 1:], token],
        "replaces the last": [ids[:, :-1], token], "not joined": [ids], "replaces all": [token],
        "before the last": [ids[:, :-1], token, ids[:, -1:]],
    }  # fmt: skip
    return torch.cat(parts[joins], 1)


def _picked(z: Tensor, logits: Tensor, pick: str, ids: Tensor) -> Tensor:
    """New tokens (B, 1) from logits (B, V) of a position, or from all of them."""
    B, V = z.shape

    def without(tokens: Tensor) -> Tensor:
        return z.scatter(1, tokens, float("-inf")).argmax(-1, keepdim=True)

    ways = {
        "likeliest": lambda: z.argmax(-1, keepdim=True), "least likely": lambda: z.argmin(-1, keepdim=True),
        "second": lambda: z.topk(2).indices[:, 1:], "over the batch": lambda: z.argmax(0, keepdim=True), "all positions": lambda: logits.argmax(-1),
        "over the batch, cut": lambda: z.argmax(0)[:B, None], "softmax over the batch": lambda: z.softmax(0).argmax(-1, keepdim=True),
        "of everything": lambda: (z.argmax() % V).expand(B, 1), "first example": lambda: z[:1].argmax(-1, keepdim=True).expand(B, 1),
        "over positions": lambda: logits[:, :, -1].argmax(-1, keepdim=True), "no specials": lambda: z[:, SPECIALS:].argmax(-1, keepdim=True) + SPECIALS,
        "no specials, shifted": lambda: z[:, SPECIALS:].argmax(-1, keepdim=True), "nothing said before": lambda: without(ids),
        "not the last": lambda: without(ids[:, -1:]), "mean of the batch": lambda: z.mean(0).argmax().expand(B, 1),
        "one more": lambda: z.argmax(-1, keepdim=True) + 1, "values": lambda: z.amax(-1, keepdim=True),
        "absolute": lambda: z.abs().argmax(-1, keepdim=True),
    }  # fmt: skip
    return ways[pick]()


def _observe(student: Student) -> Observed:
    student.give(KIT)
    act, oracle, notes = _way(student)
    generator = student.generator(1)
    tried: list[Tried] = []
    for part, B, T, count in (
        ("one token", 1, 1, 1), ("one token", 1, 3, 1), ("several tokens", 1, 2, 3), ("several tokens", 1, 4, 4),
        ("several tokens", 1, 5, 5), ("a batch", 2, 3, 2), ("a batch", 3, 4, 5),
    ):  # fmt: skip
        ids = torch.randint(0, VOCAB, (B, T), generator=generator)
        call = f"input_ids {ids.tolist()}, num_tokens {count}"
        tried.append(_one(student, Case(part, call, (ids, count)), act))

    def again() -> Views:
        one, two = (act(ids, 4, seed) for seed in (1, 2))
        return {"holds": isinstance(one, Tensor) and isinstance(two, Tensor) and torch.equal(one, two)}

    tried.append(tried_case(student, Case("several tokens", "the same call twice", (), RANDOM), again))
    return Observed(tuple(tried), (Candidate(oracle),), notes)


Act = Callable[[Tensor, int, int], object]


def _one(student: Student, case: Case, act: Act) -> Tried:
    ids, count = case.inputs
    assert isinstance(ids, Tensor)
    assert isinstance(count, int)
    return tried_case(student, case, lambda: {"tokens": act(ids, count, 0)})


def _way(student: Student) -> tuple[Act, Logits, tuple[str, ...]]:
    """How the student's code is called, and the logits that it then sees."""
    name = student.find(("generate", "generate_tokens", "greedy_generate"))
    ids = torch.zeros(1, 2, dtype=torch.long)
    if name is not None:
        model = Foreign("pair")
        try:
            student.call(name, model, ids, 1)
        except StudentError:
            try:
                student.call(name, Foreign("alone"), ids, 1)
                model = Foreign("alone")
            except StudentError:
                pass  # the cases will tell
        return (
            (lambda ids, count, seed: student.guest.call(name, model, ids, count, seed=student.seed + seed)),
            known_logits,
            (),
        )
    made = _model(student)
    student.call(Foreign("placed"), made)

    def method(ids: Tensor, count: int, seed: int) -> object:
        return student.guest.call(made, ids, count, method="generate", seed=student.seed + seed)

    try:
        method(ids, 4, 0)
    except StudentError:
        return method, known_logits, ()
    if student.call(made, method="known_calls") != 0:
        return method, known_logits, ()
    own = _model(
        student
    )  # its generate does not call the model as a whole: its own logits are then what counts

    def theirs(ids: Tensor) -> Tensor:
        try:
            value = student.call(own, ids)
        except StudentError as error:
            raise ValueError("the model refuses these tokens") from error
        found = value[0] if isinstance(value, tuple | list) else value
        assert isinstance(found, Tensor)
        return found

    return method, theirs, ("generate does not call the model; it is held against the model's own logits",)


def _model(student: Student) -> Handle:
    name = student.find(("DialogueGPT", "GPT"))
    if name is None:
        raise StudentError("NotFound", "nothing in the file is called generate or DialogueGPT")
    try:
        return student.make(name, VOCAB, CONTEXT, 6, 4, 11, 3, 2)
    except StudentError as first:
        try:
            return student.make(name, VOCAB, CONTEXT, 12, 4, 11, 3, 2)
        except StudentError:
            raise first from None


def _predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    if case.flaw is not None:
        return {"holds": True}
    ids, count = case.inputs
    assert isinstance(ids, Tensor)
    assert isinstance(count, int)
    logits_of = candidate.weights if callable(candidate.weights) else known_logits
    return {
        "tokens": written_on(logits_of, ids, count, **{name: str(value) for name, value in choices.items()})
    }


SLOW = "why-generation-is-slow"
MISTAKES = tuple(
    Mistake(name, says, choices, lesson)
    for name, says, choices, lesson in (
        ("prompt-dropped", "the new tokens without the prompt", {"gives": "new"}, ""),
        ("prompt-dropped-last", "the last new token alone", {"gives": "last"}, ""),
        ("prompt-and-last", "the prompt and the last new token alone", {"gives": "prompt and last"}, ""),
        ("prompt-dropped-flat", "the new tokens without the prompt and without the batch axis", {"gives": "new, flat"}, ""),
        ("prompt-cut", "the new tokens behind the last token of the prompt", {"gives": "last prompt token too"}, ""),
        ("argmax-over-batch", "the argmax over the batch in place of the vocabulary", {"pick": "over the batch"}, ""),
        ("argmax-over-batch-cut", "the argmax over the batch in place of the vocabulary, cut to the batch", {"pick": "over the batch, cut"}, ""),
        ("argmax-over-positions", "the argmax over positions in place of the vocabulary", {"pick": "over positions"}, ""),
        ("argmax-of-everything", "one argmax over batch and vocabulary together", {"pick": "of everything"}, ""),
        ("all-positions-appended", "the likeliest tokens of all positions appended in place of the last one's", {"pick": "all positions"}, ""),
        ("first-example-for-all", "the first example's token for all examples", {"pick": "first example"}, ""),
        ("mean-of-batch", "one token for all examples, from the mean of their logits", {"pick": "mean of the batch"}, ""),
        ("argmin", "the least likely token", {"pick": "least likely"}, ""),
        ("second-best", "the second likeliest token", {"pick": "second"}, ""),
        ("token-one-more", "the likeliest token's number plus one", {"pick": "one more"}, ""),
        ("logit-in-place-of-token", "the greatest logit in place of its place", {"pick": "values"}, ""),
        ("specials-forbidden", "the likeliest token that is no special one", {"pick": "no specials"}, ""),
        ("specials-forbidden-shifted", "the likeliest token that is no special one, counted from the first that is none", {"pick": "no specials, shifted"}, ""),
        ("repetition-avoided", "the likeliest token that does not occur yet", {"pick": "nothing said before"}, ""),
        ("last-token-avoided", "the likeliest token but for the one just written", {"pick": "not the last"}, ""),
        ("softmax-over-batch", "a softmax over the batch before the argmax: it compares examples", {"pick": "softmax over the batch"}, ""),
        ("softmax-over-time", "a softmax over positions before the argmax: it compares positions", {"row": "softmax over time"}, ""),
        ("first-logit", "the logits of the first position in place of the last", {"row": "first"}, ""),
        ("second-to-last-logit", "the logits of the last position but one", {"row": "second to last"}, ""),
        ("logit-by-step", "the logits of position 0, 1, 2, … in place of the last", {"row": "by step"}, ""),
        ("greedy-on-mean", "the mean of the logits of all positions", {"row": "mean"}, ""),
        ("greedy-on-max", "the greatest logits over all positions", {"row": "max"}, ""),
        ("last-logit-repeated", "the same token again and again: the logits behind the prompt are used for all, and what was written is not read", {"refresh": "once"}, SLOW),
        ("last-logit-twice", "every logit used twice: the model is asked for every other token alone", {"refresh": "every second"}, SLOW),
        ("context-last-token", "tokens from the last token alone: what stands before it is not read", {"context": "last token"}, SLOW),
        ("context-last-two", "tokens from the last two tokens alone", {"context": "last two"}, SLOW),
        ("context-last-three", "tokens from the last three tokens alone", {"context": "last three"}, SLOW),
        ("context-of-prompt-length", "tokens from as many tokens as the prompt has: the first ones are forgotten", {"context": "length of the prompt"}, SLOW),
        ("context-without-last", "tokens from all but the last token", {"context": "without the last"}, SLOW),
        ("context-without-first", "tokens from all but the first token", {"context": "without the first"}, SLOW),
        ("context-new-tokens", "tokens from the prompt's last token and the new ones: the rest of the prompt is not read", {"context": "new tokens"}, SLOW),
        ("context-first-example", "tokens from the first example's text for all examples", {"context": "first example"}, ""),
        ("context-reversed", "tokens from the text read backwards", {"context": "reversed"}, ""),
        ("last-of-blanks", "the logits behind blanks that are not filled yet", {"context": "blanks", "row": "last of all"}, ""),
        ("one-too-few", "one token too few", {"many": "one less"}, ""),
        ("one-too-many", "one token too many", {"many": "one more"}, ""),
        ("one-token-only", "one token, however many are asked for", {"many": "one"}, ""),
        ("total-length", "num_tokens in all, the prompt counted in", {"many": "in all"}, ""),
        ("token-in-front", "new tokens before the prompt in place of behind it", {"joins": "in front"}, ""),
        ("token-twice", "every new token written twice", {"joins": "twice"}, ""),
        ("token-before-last", "new tokens before the last one", {"joins": "before the last"}, ""),
        ("window-slides", "a text that loses its first token with every new one", {"joins": "slides"}, ""),
        ("last-token-replaced", "new tokens in place of the last one", {"joins": "replaces the last"}, ""),
        ("text-replaced", "the new token in place of all text", {"joins": "replaces all"}, ""),
        ("token-not-joined", "the prompt as it was: new tokens are not joined to it", {"joins": "not joined"}, ""),
        ("not-joined-all", "the prompt and new tokens, of which none is read for the next", {"joins": "not joined", "gives": "joined"}, SLOW),
        ("list-returned", "the first example without its batch axis", {"gives": "first row"}, ""),
        ("first-example-only", "the first example alone", {"gives": "first rows"}, ""),
        ("batch-flattened", "the tokens of all examples in one row", {"gives": "flat"}, ""),
        ("last-dropped", "everything but the last token", {"gives": "without the last"}, ""),
        ("last-not-filled", "a last token that is 0 because nothing was written there", {"gives": "last is blank"}, ""),
        ("first-dropped", "everything but the first token", {"gives": "without the first"}, ""),
        ("turned", "tokens of shape (T + num_tokens, B)", {"gives": "turned"}, ""),
        *((f"stops-at-special{'' if i == 1 else f'-{i}'}", f"an end where token {i} comes up; num_tokens are asked for", {"stops": str(i)}, "") for i in (1, 0, 2)),
    )
)  # fmt: skip
TASK = Assignment(
    name="generate", title="generate", skeleton=SKELETON, symbols=(("generate", "generate_tokens", "greedy_generate", "DialogueGPT.generate"),),
    parts=(PartPoints("one token", 1), PartPoints("several tokens", 2), PartPoints("a batch", 1)), lesson=SLOW,
    observe=_observe, predict=_predict, mistakes=MISTAKES, tolerance=0.0,
    method="a model whose logits are known is put in place of the student's; then tokens are compared",
)  # fmt: skip
