"""Text into numbers: words become ids, lines become examples, examples become padded batches."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import check_sizes, need


class MyTokenizer:
    """The words of a text, numbered: 0 <START>, 1 <PAD>, 2 <UNK>, then the text's own in sorted order.

    Words are those of NLTK's `word_tokenize`. Where its trained sentence data is not installed, sentences end
    at every full stop, so that "Mr. Hyde" has the tokens "Mr" and "."; `nltk.download("punkt_tab")` gets it.

    >>> tokenizer = MyTokenizer("I shall not die. I shall live!")
    >>> tokenizer.encode("I shall sing.")
    tensor([0, 5, 9, 2, 4])
    >>> tokenizer.decode([0, 5, 9, 2, 4])
    '<START> I shall <UNK> .'
    """

    start, pad, unk = 0, 1, 2

    def __init__(self, raw_text: str) -> None:
        rules = need("nltk", "text").tokenize
        self.sentences, self.words = self.splitter(rules), rules.NLTKWordTokenizer()
        # No text can hold a special token: the word tokenizer takes "<PAD>" apart into three.
        self.id_to_tok = ["<START>", "<PAD>", "<UNK>", *sorted(set(self.tokenize(raw_text)))]
        self.tok_to_id = {tok: i for i, tok in enumerate(self.id_to_tok)}
        self.vocab_size = len(self.id_to_tok)

    def splitter(self, rules: Any) -> Any:
        """What cuts a text into sentences."""
        try:
            return rules.PunktTokenizer("english")
        except LookupError:  # its data is not installed
            return rules.PunktSentenceTokenizer()

    def tokenize(self, text: str) -> list[str]:
        """The words and signs of a text."""
        if not isinstance(text, str):
            raise ValueError(f"text must be a str, got a {type(text).__name__}")
        # Sentence by sentence, because only the full stop that ends a string becomes a token of its own.
        return [tok for sentence in self.sentences.tokenize(text) for tok in self.words.tokenize(sentence)]

    def encode(self, text: str) -> Tensor:
        """The ids (1+T,) of a text after <START>; a word never seen becomes <UNK>."""
        return torch.tensor([self.start, *(self.tok_to_id.get(tok, self.unk) for tok in self.tokenize(text))])

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The tokens of ids (T,), special ones too, joined by spaces."""
        ids = torch.as_tensor(ids).tolist()
        if not all(0 <= i < self.vocab_size for i in ids):
            raise ValueError(f"ids must be from 0 to {self.vocab_size - 1}, got {min(ids)} to {max(ids)}")
        return " ".join(self.id_to_tok[i] for i in ids)

    def pad_examples(self, examples: Sequence[Tensor | Sequence[int]]) -> Tensor:
        """One batch (B,T) from B examples of any length, filled up on the right with <PAD>."""
        rows = [torch.as_tensor(example, dtype=torch.long) for example in examples]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.pad)


class DialogueDataset(torch.utils.data.Dataset[Tensor]):
    """One example per line: <START>, as `encode` begins, and the line's tokens, cut to `max_N` ids in all.

    >>> data = DialogueDataset(MyTokenizer("yes or no"), ["yes yes yes yes", "no"], max_N=4)
    >>> data.collate_fn([data[0], data[1]])["input_ids"]
    tensor([[0, 5, 5, 5],
            [0, 3, 1, 1]])
    """

    def __init__(self, tokenizer: MyTokenizer, lines: Iterable[str], max_N: int) -> None:
        check_sizes(max_N=max_N)
        if isinstance(lines, str):  # iterating over it would make an example of every character
            raise ValueError("lines must be several strings, got one str")
        self.tokenizer = tokenizer
        self.examples = [tokenizer.encode(line)[:max_N] for line in lines]

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> Tensor:
        return self.examples[index]

    def collate_fn(self, examples: Sequence[Tensor]) -> dict[str, Tensor]:
        """A batch for the model: `input_ids` (B,T), and `input_mask` (B,T) with 1 for real tokens."""
        input_ids = self.tokenizer.pad_examples(examples)
        return {"input_ids": input_ids, "input_mask": (input_ids != self.tokenizer.pad).long()}
