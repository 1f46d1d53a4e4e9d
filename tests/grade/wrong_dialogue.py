"""Wrong solutions of the tasks about dialogue: loss, tokenizer, data set; see `wrong_functions`."""

LOSS_HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
class DialogueLoss(nn.Module):
    def forward(self, logits, input_ids, inp_mask):
"""

LOSS: list[tuple[str, str]] = [
    ("targets-not-shifted", LOSS_HEAD + """
        V = logits.size(-1)
        loss = F.cross_entropy(logits.view(-1, V), input_ids.view(-1), reduction='none')
        m = inp_mask.view(-1).float()
        return (loss * m).sum() / m.sum()
"""),
    ("padding-counted", LOSS_HEAD + """
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
"""),
    ("mean-of-means", LOSS_HEAD + """
        lp = logits[:, :-1].log_softmax(-1)
        nll = -lp.gather(-1, input_ids[:, 1:, None]).squeeze(-1)
        m = inp_mask[:, 1:].float()
        return ((nll * m).sum(1) / m.sum(1)).mean()
"""),
    ("softmax-before-cross-entropy", LOSS_HEAD + """
        probs = torch.softmax(logits, dim=-1)[:, :-1]
        loss = nn.CrossEntropyLoss(reduction='none')(probs.transpose(1, 2), input_ids[:, 1:])
        m = inp_mask[:, 1:]
        return (loss * m).sum() / m.sum()
"""),
    ("shift-backwards", LOSS_HEAD + """
        loss = F.cross_entropy(logits[:, 1:].transpose(1, 2), input_ids[:, :-1], reduction='none')
        m = inp_mask[:, :-1]
        return (loss * m).sum() / m.sum()
"""),
    ("mask-not-shifted", LOSS_HEAD + """
        loss = F.cross_entropy(logits[:, :-1].transpose(1, 2), input_ids[:, 1:], reduction='none')
        m = inp_mask[:, :-1]
        return (loss * m).sum() / m.sum()
"""),
    ("divided-by-all", LOSS_HEAD + """
        loss = F.cross_entropy(logits[:, :-1].transpose(1, 2), input_ids[:, 1:], reduction='none')
        return (loss * inp_mask[:, 1:]).mean()
"""),
    ("sum-not-mean", LOSS_HEAD + """
        targets = input_ids[:, 1:].clone()
        targets[inp_mask[:, 1:] == 0] = -100
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), targets.reshape(-1), reduction='sum')
"""),
    ("mask-inverted", LOSS_HEAD + """
        targets = input_ids[:, 1:].masked_fill(inp_mask[:, 1:].bool(), -100)
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-100)
"""),
    ("log-missing", LOSS_HEAD + """
        p = logits.softmax(-1)[:, :-1]
        right = p.gather(-1, input_ids[:, 1:].unsqueeze(-1)).squeeze(-1)
        m = inp_mask[:, 1:].float()
        return -(right * m).sum() / m.sum()
"""),
    ("sign-forgotten", LOSS_HEAD + """
        B, T, V = logits.shape
        total, count = 0.0, 0
        for b in range(B):
            for t in range(T - 1):
                if inp_mask[b, t + 1]:
                    total = total + torch.log_softmax(logits[b, t], -1)[input_ids[b, t + 1]]
                    count += 1
        return total / count
"""),
    ("no-mean", LOSS_HEAD + """
        loss = F.cross_entropy(logits[:, :-1].transpose(1, 2), input_ids[:, 1:], reduction='none')
        return loss * inp_mask[:, 1:]
"""),
    ("logits-masked", LOSS_HEAD + """
        logits = logits * inp_mask.unsqueeze(-1)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
"""),
    ("first-real-token-skipped", LOSS_HEAD + """
        loss = F.cross_entropy(logits[:, 1:-1].transpose(1, 2), input_ids[:, 2:], reduction='none')
        m = inp_mask[:, 2:]
        return (loss * m).sum() / m.sum()
"""),
    ("gradient-stopped", LOSS_HEAD + """
        lp = logits[:, :-1].log_softmax(-1)
        nll = -lp.gather(-1, input_ids[:, 1:, None]).squeeze(-1)
        m = inp_mask[:, 1:].float()
        return torch.tensor(((nll * m).sum() / m.sum()).item())
"""),
    ("log-base-two", LOSS_HEAD + """
        p = logits.softmax(-1)[:, :-1]
        right = p.gather(-1, input_ids[:, 1:].unsqueeze(-1)).squeeze(-1)
        m = inp_mask[:, 1:].float()
        return -(right.log2() * m).sum() / m.sum()
"""),
    ("shift-by-two", LOSS_HEAD + """
        loss = F.cross_entropy(logits[:, :-2].transpose(1, 2), input_ids[:, 2:], reduction='none')
        m = inp_mask[:, 2:]
        return (loss * m).sum() / m.sum()
"""),
    ("softmax-over-positions", LOSS_HEAD + """
        lp = torch.log_softmax(logits[:, :-1], dim=1)
        nll = -lp.gather(2, input_ids[:, 1:].unsqueeze(2))[..., 0]
        return nll[inp_mask[:, 1:] == 1].mean()
"""),
    ("shift-wraps", LOSS_HEAD + """
        targets = torch.roll(input_ids, -1, dims=1)
        loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction='none')
        return loss[inp_mask.bool()].mean()
"""),
    ("start-ignored", LOSS_HEAD + """
        loss = F.cross_entropy(logits.transpose(1, 2), input_ids, reduction='none', ignore_index=0)
        m = inp_mask * (input_ids != 0)
        return (loss * m).sum() / m.sum()
"""),
]  # fmt: skip

TOKENIZER = """
import torch
from nltk.tokenize import word_tokenize
class MyTokenizer:
    def __init__(self, raw_text):
        toks = sorted(set(word_tokenize(raw_text)))
        self.start, self.pad, self.unk = 0, 1, 2
        self.id_to_tok = ['<START>', '<PAD>', '<UNK>'] + toks
        self.tok_to_id = {t: i for i, t in enumerate(self.id_to_tok)}
        self.vocab_size = len(self.id_to_tok)
    def encode(self, text):
        return torch.tensor([self.start] + [self.tok_to_id.get(t, self.unk) for t in word_tokenize(text)])
    def decode(self, ids):
        return ' '.join(self.id_to_tok[int(i)] for i in ids)
    def pad_examples(self, examples):
        T = max(len(e) for e in examples)
        out = torch.full((len(examples), T), self.pad)
        for i, e in enumerate(examples):
            out[i, :len(e)] = torch.as_tensor(e)
        return out
"""


def edited(source: str, *changes: tuple[str, str]) -> str:
    """A source with these changes, each of which must find something."""
    for there, put in changes:
        assert there in source, there
        source = source.replace(there, put)
    return source


WORDS: list[tuple[str, str]] = [
    ("unknown-raises", edited(TOKENIZER, ("self.tok_to_id.get(t, self.unk)", "self.tok_to_id[t]"))),
    ("start-missing", edited(TOKENIZER, ("[self.start] + [self", "[self"))),
    ("not-sorted", edited(TOKENIZER, ("sorted(set(word_tokenize(raw_text)))", "list(dict.fromkeys(word_tokenize(raw_text)))"))),
    ("not-unique", edited(TOKENIZER, ("sorted(set(word_tokenize(raw_text)))", "sorted(word_tokenize(raw_text))"))),
    ("specials-at-end", edited(
        TOKENIZER,
        ("['<START>', '<PAD>', '<UNK>'] + toks", "toks + ['<START>', '<PAD>', '<UNK>']"),
        ("self.start, self.pad, self.unk = 0, 1, 2", "self.start, self.pad, self.unk = len(toks), len(toks) + 1, len(toks) + 2"),
    )),
    ("pad-first", edited(
        TOKENIZER, ("['<START>', '<PAD>', '<UNK>']", "['<PAD>', '<START>', '<UNK>']"), ("self.start, self.pad", "self.pad, self.start"),
    )),
    ("specials-dropped", edited(TOKENIZER, ("for i in ids)", "for i in ids if i > 2)"))),
    ("joined-without-spaces", edited(TOKENIZER, ("' '.join", "''.join"))),
    ("padded-left", edited(TOKENIZER, ("out[i, :len(e)]", "out[i, T - len(e):]"))),
    ("padded-with-zero", edited(TOKENIZER, ("torch.full((len(examples), T), self.pad)", "torch.zeros(len(examples), T, dtype=torch.long)"))),
    ("split-at-spaces", """
import torch
from torch.nn.utils.rnn import pad_sequence
class MyTokenizer:
    def __init__(self, raw_text):
        self.start, self.pad, self.unk = 0, 1, 2
        vocab = ["<START>", "<PAD>", "<UNK>"]
        for w in sorted(set(raw_text.split())):
            vocab.append(w)
        self.tok_to_id = {}
        self.id_to_tok = {}
        for i, w in enumerate(vocab):
            self.tok_to_id[w] = i
            self.id_to_tok[i] = w
        self.vocab_size = len(vocab)
    def encode(self, text):
        ids = [0]
        for w in text.split():
            ids.append(self.tok_to_id[w] if w in self.tok_to_id else self.unk)
        return torch.LongTensor(ids)
    def decode(self, ids):
        return " ".join([self.id_to_tok[i.item()] for i in ids])
    def pad_examples(self, examples):
        return pad_sequence(examples, batch_first=True, padding_value=1)
"""),
    ("lowercased", edited(TOKENIZER, ("word_tokenize(raw_text)", "word_tokenize(raw_text.lower())"), ("word_tokenize(text)", "word_tokenize(text.lower())"))),
    ("characters", edited(TOKENIZER, ("word_tokenize(raw_text)", "raw_text"), ("in word_tokenize(text)", "in text"))),
    ("vocab-size-without-specials", edited(TOKENIZER, ("len(self.id_to_tok)", "len(toks)"))),
    ("end-added", edited(TOKENIZER, ("for t in word_tokenize(text)])", "for t in word_tokenize(text)] + [self.pad])"))),
    ("unknown-dropped", edited(TOKENIZER, ("self.tok_to_id.get(t, self.unk) for t in word_tokenize(text)", "self.tok_to_id[t] for t in word_tokenize(text) if t in self.tok_to_id"))),
    ("signs-dropped", edited(TOKENIZER, ("from nltk.tokenize import word_tokenize", "import re\ndef word_tokenize(s): return re.findall(r'\\w+', s)"))),
    ("padded-to-shortest", edited(TOKENIZER, ("max(len(e)", "min(len(e)"), ("out[i, :len(e)] = torch.as_tensor(e)", "out[i] = torch.as_tensor(e[:T])"))),
    ("by-frequency", edited(TOKENIZER, ("toks = sorted(set(word_tokenize(raw_text)))", "from collections import Counter\n        toks = [w for w, _ in Counter(word_tokenize(raw_text)).most_common()]"))),
    ("start-dropped-in-decode", edited(TOKENIZER, ("for i in ids)", "for i in ids if int(i) != self.start)"))),
    ("ids-from-one", edited(TOKENIZER, ("enumerate(self.id_to_tok)}", "enumerate(self.id_to_tok, 1)}"))),
    ("specials-sorted-in", edited(
        TOKENIZER,
        ("['<START>', '<PAD>', '<UNK>'] + toks", "sorted(set(toks) | {'<START>', '<PAD>', '<UNK>'})"),
        ("self.start, self.pad, self.unk = 0, 1, 2", "pass"),
        ("self.vocab_size =", "self.start, self.pad, self.unk = (self.tok_to_id[s] for s in ('<START>', '<PAD>', '<UNK>'))\n        self.vocab_size ="),
    )),
    ("unknown-is-pad", edited(TOKENIZER, ("self.tok_to_id.get(t, self.unk)", "self.tok_to_id.get(t, self.pad)"))),
    ("unknown-gets-a-new-id", edited(TOKENIZER, ("self.tok_to_id.get(t, self.unk)", "self.tok_to_id.setdefault(t, len(self.tok_to_id))"))),
]  # fmt: skip

DATASET = """
import torch
from torch.utils.data import Dataset
class DialogueDataset(Dataset):
    def __init__(self, tokenizer, lines, max_N):
        self.tokenizer, self.max_N = tokenizer, max_N
        self.lines = lines
    def __len__(self):
        return len(self.lines)
    def __getitem__(self, i):
        return self.tokenizer.encode(self.lines[i])[:self.max_N]
    def collate_fn(self, examples):
        ids = self.tokenizer.pad_examples(examples)
        mask = (ids != self.tokenizer.pad).long()
        return {'input_ids': ids, 'input_mask': mask}
"""

DATA: list[tuple[str, str]] = [
    ("start-doubled", edited(DATASET, ("return self.tokenizer.encode(self.lines[i])", "return torch.cat([torch.tensor([self.tokenizer.start]), self.tokenizer.encode(self.lines[i])])"))),
    ("not-cut", edited(DATASET, ("[:self.max_N]", ""))),
    ("cut-one-short", edited(DATASET, ("[:self.max_N]", "[:self.max_N - 1]"))),
    ("cut-one-long", edited(DATASET, ("[:self.max_N]", "[:self.max_N + 1]"))),
    ("cut-at-the-front", edited(DATASET, ("[:self.max_N]", "[-self.max_N:]"))),
    ("mask-inverted", edited(DATASET, ("ids != self.tokenizer.pad", "ids == self.tokenizer.pad"))),
    ("mask-missing", edited(DATASET, (", 'input_mask': mask", ""))),
    ("mask-all-ones", edited(DATASET, ("mask = (ids != self.tokenizer.pad).long()", "mask = torch.ones_like(ids)"))),
    ("mask-by-zero", edited(DATASET, ("ids != self.tokenizer.pad", "ids != 0"))),
    ("padded-left", edited(DATASET, ("ids = self.tokenizer.pad_examples(examples)", "ids = torch.stack([torch.cat([torch.full((max(map(len, examples)) - len(e),), 1), e]) for e in examples])"))),
    ("padded-with-zero", edited(DATASET, ("self.tokenizer.pad_examples(examples)", "torch.nn.utils.rnn.pad_sequence(examples, batch_first=True)"))),
    ("padded-with-zero", """
import torch
class DialogueDataset(torch.utils.data.Dataset):
    def __init__(self, tokenizer, lines, max_N):
        self.pad = tokenizer.pad
        self.data = []
        for line in lines:
            ids = tokenizer.encode(line)
            if len(ids) > max_N:
                ids = ids[:max_N]
            self.data.append(ids)
    def __getitem__(self, idx): return self.data[idx]
    def __len__(self): return len(self.data)
    def collate_fn(self, examples):
        T = max([len(e) for e in examples])
        input_ids = torch.zeros((len(examples), T), dtype=torch.long)
        input_mask = torch.zeros((len(examples), T), dtype=torch.long)
        for b, e in enumerate(examples):
            input_ids[b, :len(e)] = e
            input_mask[b, :len(e)] = 1
        return {"input_ids": input_ids, "input_mask": input_mask}
"""),
    ("padded-to-max", edited(DATASET, ("ids = self.tokenizer.pad_examples(examples)", "ids = torch.full((len(examples), self.max_N), self.tokenizer.pad)\n        for b, e in enumerate(examples): ids[b, :len(e)] = e"))),
    ("start-missing", edited(DATASET, ("[:self.max_N]", "[1:self.max_N + 1]"))),
    ("long-lines-dropped", edited(DATASET, ("self.lines = lines", "self.lines = [l for l in lines if len(tokenizer.encode(l)) <= max_N]"))),
    ("cut-before-encoding", edited(DATASET, ("self.tokenizer.encode(self.lines[i])[:self.max_N]", "self.tokenizer.encode(self.lines[i][:self.max_N])"))),
    ("padded-at-once", edited(DATASET, ("self.lines = lines", "self.lines = lines\n        self.all = tokenizer.pad_examples([tokenizer.encode(l)[:max_N] for l in lines])"), ("return self.tokenizer.encode(self.lines[i])[:self.max_N]", "return self.all[i]"))),
    ("one-long-text", """
import torch
from torch.utils.data import Dataset
class DialogueDataset(Dataset):
    def __init__(self, tokenizer, lines, max_N):
        ids = torch.cat([tokenizer.encode(l) for l in lines])
        self.chunks = list(ids.split(max_N))
        self.tok = tokenizer
    def __len__(self): return len(self.chunks)
    def __getitem__(self, i): return self.chunks[i]
    def collate_fn(self, ex):
        ids = self.tok.pad_examples(ex)
        return dict(input_ids=ids, input_mask=(ids != self.tok.pad).long())
"""),
    ("mask-counts-start-out", edited(DATASET, ("mask = (ids != self.tokenizer.pad).long()", "mask = ((ids != self.tokenizer.pad) & (ids != self.tokenizer.start)).long()"))),
    ("start-missing", edited(DATASET, ("self.tokenizer.encode(self.lines[i])[:self.max_N]", "self.tokenizer.encode(self.lines[i])[1:][:self.max_N]"))),
    ("mask-causal", edited(DATASET, ("mask = (ids != self.tokenizer.pad).long()", "mask = torch.ones(ids.shape[1], ids.shape[1]).tril()"))),
    ("cut-one-long", edited(DATASET, ("[:self.max_N]", "[:self.max_N + 1]"))),
]  # fmt: skip

WRONG = {"dialogue-loss": LOSS, "tokenizer": WORDS, "dialogue-dataset": DATA}
