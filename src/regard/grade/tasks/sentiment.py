"""BERTGRUSentiment: a frozen encoder, GRUs that read its hidden states, a linear map of their last ones."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.grade.modules import STUCK, first_of, properties, tried_case
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
from regard.grade.tasks.gru_reading import (
    HIDDEN,
    KIT,
    LAYERS,
    OUT,
    OWN_NAMES,
    VOCAB,
    ReaderMaps,
    judge_texts,
    reader_readings,
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
TRAINED = Mistake("encoder-not-frozen", "an encoder that is trained, too: gradient reaches its weights")


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
        for call, rows in (
            ("one text with padding", slice(0, 1)),
            ("three texts of 2, 5 and 4 tokens", slice(0, 3)),
        ):
            tried.append(
                _asked(student, made, "a batch", call, (padded[rows] * mask[rows], mask[rows]), keyword)
            )
    tried += [
        tried_case(student, Case("as a module", "the gradient of the encoder", (), TRAINED), lambda: _frozen(student, made, padded)),
        tried_case(student, Case("as a module", "the gradient of every weight", (), STUCK), lambda: _reached(student, made, padded)),
        *(one for one in properties(student, made, "as a module", (padded,)) if one[0].flaw != STUCK),  # the encoder gets none
    ]  # fmt: skip
    plain, other = _one_way(student, name, generator)
    tried.insert(2, plain)
    seconds: list[ReaderMaps | None] = [*other] or [None]
    found = [Candidate((one, two), one.flaw) for two in seconds for one in reader_readings(entries)]
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
    return tried_case(student, case, lambda: {"logits": first_of(student.call(made, text))}), list(
        reader_readings(entries)
    )[:4]


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


def _asked(
    student: Student,
    made: Handle,
    part: str,
    call: str,
    inputs: tuple[Tensor, Tensor | None],
    keyword: str = "",
) -> Tried:
    text, mask = inputs
    named = {keyword: mask} if keyword else None
    return tried_case(
        student, Case(part, call, inputs), lambda: {"logits": first_of(student.call(made, text, named=named))}
    )


def _gradients(student: Student, made: Handle, text: Tensor) -> dict[str, float]:
    request = {"do": "gradients", "target": made, "args": (text,), "named": {}, "seed": student.seed}
    found = student.guest.ask(request)
    return (
        {str(name): size for name, size in found.items() if isinstance(size, float)}
        if isinstance(found, dict)
        else {}
    )


def _frozen(student: Student, made: Handle, text: Tensor) -> Views:
    sizes = _gradients(student, made, text)
    trained = [name for name, size in sizes.items() if name.rpartition(".")[2] in OWN_NAMES and size > 0]
    return {"holds": True if not trained else f"gradient reaches {', '.join(trained)}"}


def _reached(student: Student, made: Handle, text: Tensor) -> Views:
    sizes = {
        name: size
        for name, size in _gradients(student, made, text).items()
        if name.rpartition(".")[2] not in OWN_NAMES
    }
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
    return (
        isinstance(before, Tensor) and isinstance(after, Tensor) and bool((before - after).abs().max() > 1e-4)
    )


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
