"""DialogueDataset and its collate_fn; the tokenizer is given, so that theirs need not be right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from regard.grade.modules import tried_case
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
from regard.grade.tasks.tokens import padded
from regard.grade.wire import Foreign, Handle

TEXT = '''"""Lines of a dialogue as examples, and examples as batches."""

import torch
from torch.utils.data import Dataset


class DialogueDataset(Dataset):
    def __init__(self, tokenizer, lines, max_N):
        """One example a line. tokenizer: your MyTokenizer, whose encode puts <START> in front."""
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def __getitem__(self, i):
        """The ids of line i as the tokenizer encodes it, cut to the first max_N."""
        raise NotImplementedError

    def collate_fn(self, examples):
        """{"input_ids": (B, T), "input_mask": (B, T)} of B examples.

        Those shorter than the longest, T, are filled up with the tokenizer's pad behind; the mask is 1 for real tokens, 0 for padding.
        """
        raise NotImplementedError
'''
# The tokenizer of the definition for a fixed vocabulary; this runs beside the student's code.
KIT = """
import torch
class GivenTokenizer:
    start, pad, unk = 0, 1, 2
    id_to_tok = ["<START>", "<PAD>", "<UNK>", "maybe", "no", "or", "yes"]
    tok_to_id = {tok: i for i, tok in enumerate(id_to_tok)}
    vocab_size = len(id_to_tok)
    def __len__(self):
        return self.vocab_size
    def encode(self, text):
        return torch.tensor([self.start, *(self.tok_to_id.get(tok, self.unk) for tok in text.split())])
    def decode(self, ids):
        return " ".join(self.id_to_tok[int(i)] for i in ids)
    def pad_examples(self, examples):
        T = max(len(one) for one in examples)
        return torch.tensor([[*(int(i) for i in one), *[self.pad] * (T - len(one))] for one in examples])
tokenizer = GivenTokenizer()
"""
WORDS = ("<START>", "<PAD>", "<UNK>", "maybe", "no", "or", "yes")
LINES = ("no", "yes or no", "yes yes or no maybe", "maybe no", "or")
MAX_N = 4
BATCH = ((0, 4), (0, 3, 4), (0, 6, 5, 4))


@dataclass(frozen=True)
class Asked:
    """One thing that is asked of a data set; `number` is the line or how many examples."""

    does: str
    number: int = 0


def encode(text: str) -> list[int]:
    """The ids that the given tokenizer gives."""
    return [0, *(WORDS.index(one) if one in WORDS else 2 for one in text.split())]


def _observe(student: Student) -> Observed:
    name = student.need("DialogueDataset")
    student.give(KIT)
    made = student.make(name, Foreign("tokenizer"), list(LINES), MAX_N)
    tried: list[Tried] = []
    items: list[object] = []

    def item(i: int) -> Views:
        items.append(student.call(made, i, method="__getitem__"))
        return {"ids": items[-1]}

    for i, line in enumerate(LINES):
        call = f"the example of {line!r} with max_N={MAX_N}"
        tried.append(tried_case(student, Case("examples", call, (Asked("item", i),)), partial(item, i)))
    count = Case("examples", f"len of a data set of {len(LINES)} lines", (Asked("length"),))
    tried.append(tried_case(student, count, lambda: {"length": student.call(made, method="__len__")}))
    plain = bool(items) and isinstance(items[0], list)
    given: Callable[[Sequence[int]], object] = list if plain else torch.tensor
    collate = _collate(student, made)
    for part, does in (("input_ids", "ids"), ("input_mask", "mask")):
        for many in (2, 3):

            def act(many: int = many, does: str = does) -> Views:
                found = collate([given(one) for one in BATCH[:many]])
                both = _read(found)
                return {"keys": both[0], "input_ids": both[1]} if does == "ids" else {"input_mask": both[2]}

            call = f"collate_fn({[list(one) for one in BATCH[:many]]})"
            tried.append(tried_case(student, Case(part, call, (Asked(does, many),)), act))
    return Observed(tuple(tried))


def _collate(student: Student, made: Handle) -> Callable[[list[object]], object]:
    """The method, or a function of the file where there is no method."""
    own = student.find(["collate_fn", "collate"])
    if own is not None and student.get(made, "collate_fn") is None:
        return lambda examples: student.call(own, examples)
    return lambda examples: student.call(made, examples, method="collate_fn")


def _read(found: object) -> tuple[object, object, object]:
    """How it is packed, and what is in it; keys beside the two are nobody's concern."""
    if not isinstance(found, Mapping):
        return (
            f"no dict, but a {'tensor' if isinstance(found, Tensor) else type(found).__name__}",
            "none",
            "none",
        )
    keys = [key for key in ("input_ids", "input_mask") if key in found]
    return ", ".join(keys), found.get("input_ids", "none"), found.get("input_mask", "none")


def examples_of(lines: Sequence[str], *, start: str, cut: str, stored: str) -> list[list[int]]:
    """The examples of lines."""
    if cut == "characters":
        lines = [line[:MAX_N] for line in lines]
    if cut == "words":
        lines = [" ".join(line.split()[:MAX_N]) for line in lines]
    whole = [encode(line) for line in lines]
    whole = [{"doubled": [0, *one], "missing": one[1:], "behind": [*one[1:], 0],
              "end": [*one, 1]}.get(start, one) for one in whole]  # fmt: skip
    if stored == "dropped":
        whole = [one for one in whole if len(one) <= MAX_N]
    if stored == "one text":
        joined = [i for one in whole for i in one]
        return [joined[i : i + MAX_N] for i in range(0, len(joined), MAX_N)]
    if stored == "pieces":
        return [one[i : i + MAX_N] for one in whole for i in range(0, len(one), MAX_N)]
    ends: dict[str, Callable[[list[int]], list[int]]] = {
        "none": lambda one: one, "one short": lambda one: one[: MAX_N - 1], "one long": lambda one: one[: MAX_N + 1],
        "front": lambda one: one[-MAX_N:], "characters": lambda one: one, "words": lambda one: one,
        "start kept, last words": lambda one: one if len(one) <= MAX_N else [0, *one[-MAX_N + 1 :]],
    }  # fmt: skip
    out = [ends.get(cut, lambda one: one[:MAX_N])(one) for one in whole]
    if stored == "padded":
        longest = max(map(len, out))
        out = [[*one, *[1] * (longest - len(one))] for one in out]
    if stored == "padded to max_N":
        out = [[*one, *[1] * (MAX_N - len(one))] for one in out]
    return out


def predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    """What the data set gives under these choices."""
    asked = case.inputs[0]
    assert isinstance(asked, Asked)
    how = {name: str(one) for name, one in choices.items()}
    if asked.does in ("item", "length"):
        found = examples_of(
            LINES, start=how.get("start", "given"), cut=how.get("cut", "max_N"), stored=how.get("stored", "")
        )
        if asked.does == "length":
            return {"length": len(found) + {"one less": -1, "max_N": MAX_N - len(found), "characters": sum(map(len, LINES)) - len(found)}.get(how.get("length", ""), 0)}  # fmt: skip
        own = found[asked.number]
        return {
            "ids": {"text": LINES[asked.number], "pairs": [own[:-1], own[1:]]}.get(how.get("stored", ""), own)
        }
    batch = [list(one) for one in BATCH[: asked.number]]
    if how.get("to") == "start":
        batch = [[0, *one] for one in batch]
    if how.get("to") == "shortest":
        batch = [one[: min(map(len, batch))] for one in batch]
    longest = MAX_N if how.get("to") == "max_N" else max(map(len, batch))
    fill = how.get("fill", "pad")
    rows = padded([*batch, [1] * longest], 1, how.get("side", "behind"), fill, "")
    assert isinstance(rows, list)
    rows = [line[:-1] for line in rows] if how.get("side") == "time first" else rows[:-1]
    ids = torch.tensor(rows)
    lengths = torch.tensor([len(one) for one in batch])
    at = torch.arange(longest)
    real = at >= longest - lengths[:, None] if how.get("side") == "front" else at < lengths[:, None]
    if asked.does == "ids":
        keys = {"missing": "input_ids", "other name": "input_ids"}.get(
            how.get("mask", ""), "input_ids, input_mask"
        )
        return {"keys": how.get("keys", keys), "input_ids": "none" if "keys" in how else ids}
    real = real.T if how.get("side") == "time first" else real
    T = longest
    masks = {
        "inverted": ~real, "ones": torch.ones_like(real), "by zero": ids != 0, "start left out": real & (ids != 0),
        "causal": torch.ones(T, T).tril(), "causal by example": torch.ones(T, T).tril().expand(len(batch), T, T),
        "added": torch.zeros(real.shape).masked_fill(~real, float("-inf")), "missing": "none", "other name": "none",
        "pairs": real[:, None] & real[:, :, None] if real.ndim == 2 else real, "by pad": ids != 1,
        "lengths": lengths, "ids": ids, "unequal to unk": ids != 2,
        "targets": torch.cat([real[:, 1:], torch.zeros_like(real[:, :1])], 1), "spaced": real[:, None],
    }  # fmt: skip
    mask = masks.get(how.get("mask", ""), real)
    return {"input_mask": "none" if "keys" in how else mask}


DATASET_TASK = Assignment(
    name="dialogue-dataset", title="DialogueDataset and collate_fn", skeleton=TEXT, symbols=(("DialogueDataset",),),
    lesson="masks-and-losses", observe=_observe, predict=predict,
    parts=(PartPoints("examples", 2), PartPoints("input_ids", 2), PartPoints("input_mask", 1)),
    method="values with a given tokenizer; collate_fn is judged on given examples",
    mistakes=(
        Mistake("start-doubled", "examples with <START> twice: the tokenizer puts one there already", {"start": "doubled"}),
        Mistake("start-missing", "examples without <START>", {"start": "missing"}),
        Mistake("end-added", "examples with a <PAD> at the end, which nobody asked for", {"start": "end"}),
        Mistake("not-cut", "examples that are not cut to max_N", {"cut": "none"}),
        Mistake("cut-one-short", "examples that are cut to max_N − 1 ids", {"cut": "one short"}),
        Mistake("cut-one-long", "examples that are cut to max_N + 1 ids: <START> counts, too", {"cut": "one long"}),
        Mistake("cut-at-the-front", "the last max_N ids in place of the first", {"cut": "front"}),
        Mistake("cut-before-encoding", "lines that are cut to max_N characters, not examples to max_N ids", {"cut": "characters"}),
        Mistake("cut-words", "lines that are cut to max_N words: with <START> one more", {"cut": "words"}),
        Mistake("long-lines-dropped", "long lines that are left out, not cut", {"stored": "dropped"}),
        Mistake("one-long-text", "all lines as one text that is cut every max_N ids", {"stored": "one text"}),
        Mistake("long-lines-in-pieces", "long lines that become several examples", {"stored": "pieces"}),
        Mistake("padded-at-once", "examples that are padded before they are in a batch", {"stored": "padded"}),
        Mistake("examples-padded-to-max", "examples that are padded to max_N before they are in a batch", {"stored": "padded to max_N"}),
        Mistake("inputs-and-targets", "pairs of inputs and targets, shifted already: that is the loss's business", {"stored": "pairs"}),
        Mistake("text-not-ids", "lines of text: they are not encoded", {"stored": "text"}),
        Mistake("length-of-context", "max_N in place of the number of lines as length", {"length": "max_N"}),
        Mistake("length-of-characters", "the number of characters in place of the number of lines as length", {"length": "characters"}),
        Mistake("length-one-less", "a length that is one too small", {"length": "one less"}),
        Mistake("padded-left", "a batch that is filled up in front", {"side": "front"}),
        Mistake("batch-time-first", "a batch (T, B) in place of (B, T)", {"side": "time first"}),
        Mistake("padded-with-zero", "a batch that is filled up with 0, which is <START>", {"fill": "zero"}),
        Mistake("padded-with-minus-hundred", "a batch that is filled up with −100, not with <PAD>", {"fill": "minus hundred"}),
        Mistake("padded-with-minus-one", "a batch that is filled up with −1, not with <PAD>", {"fill": "minus one"}),
        Mistake("padded-with-unk", "a batch that is filled up with 2, which is <UNK>", {"fill": "two"}),
        Mistake("padded-to-max", "a batch that is filled up to max_N, not to its longest example", {"to": "max_N"}),
        Mistake("padded-to-shortest", "a batch that is cut to its shortest example", {"to": "shortest"}),
        Mistake("start-doubled-in-batch", "a batch with <START> put in front of examples that have one", {"to": "start"}),
        Mistake("mask-with-axis", "a mask (B, 1, T) in place of (B, T)", {"mask": "spaced"}),
        Mistake("mask-inverted", "a mask that is 1 for padding", {"mask": "inverted"}),
        Mistake("mask-all-ones", "a mask of ones: padding counts as real", {"mask": "ones"}),
        Mistake("mask-by-zero", "a mask that is 0 for id 0, which is <START>, and 1 for <PAD>", {"mask": "by zero"}),
        Mistake("mask-by-pad-id", "a mask that looks for <PAD> in a batch that is filled up with something else", {"mask": "by pad"}),
        Mistake("mask-counts-start-out", "a mask that is 0 for <START>, too", {"mask": "start left out"}),
        Mistake("mask-causal", "a triangle (T, T), the model's mask of attention, not which tokens are real", {"mask": "causal"}),
        Mistake("mask-causal-by-example", "triangles (B, T, T), the model's mask of attention, not which tokens are real", {"mask": "causal by example"}),
        Mistake("mask-of-pairs", "a mask of pairs (B, T, T) in place of tokens (B, T)", {"mask": "pairs"}),
        Mistake("mask-added", "a mask of 0 and −∞ in place of 1 and 0", {"mask": "added"}),
        Mistake("mask-of-targets", "a mask that is one short, or shifted by one: the last real token counts as padding", {"mask": "targets"}),
        Mistake("mask-lengths", "lengths in place of a mask", {"mask": "lengths"}),
        Mistake("mask-missing", "a batch without input_mask", {"mask": "missing"}),
        Mistake("ids-alone", "the padded ids alone, not a dict with a mask", {"keys": "no dict, but a tensor"}),
        Mistake("tuple-not-dict", "a tuple in place of a dict", {"keys": "no dict, but a tuple"}),
    ),
)  # fmt: skip
