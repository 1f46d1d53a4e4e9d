"""Right solutions of tasks about functions and dialogue, each in another manner; see `right`."""

from tests.grade.wrong_dialogue import DATASET, LOSS_HEAD, TOKENIZER
from tests.grade.wrong_functions import TORCH

LOCAL_HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
"""

RIGHT: dict[str, dict[str, str]] = {
    "sinusoidal-positions": {
        "exp of logs, slices": TORCH + """
def sinusoidal_positions(T, dim):
    pe = torch.zeros(T, dim)
    pos = torch.arange(T).float().unsqueeze(1)
    div = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe.unsqueeze(0)
""",
        "loops and lists": """
import math
def positional_encoding(n, d):
    return [[(math.sin if c % 2 == 0 else math.cos)(t / 10000 ** ((c - c % 2) / d)) for c in range(d)] for t in range(n)]
""",
        "numpy": """
import numpy as np
def sinusoidal_positions(T, dim):
    c = np.arange(dim)
    angle = np.arange(T)[:, None] / np.power(10000.0, 2 * (c // 2) / dim)
    return np.where(c % 2 == 0, np.sin(angle), np.cos(angle))
""",
        "a shifted sine, a complex power": """
import torch
def sinusoidal_positions(T, dim):
    w = torch.logspace(0, -4 * (dim - 2) / dim, dim // 2)
    z = torch.polar(torch.ones(T, dim // 2), torch.outer(torch.arange(T).float(), w))
    return torch.stack((z.imag, z.real), -1).flatten(-2)
""",
    },
    "linear-attention": {
        "in chunks, with a column of ones": """
import torch, torch.nn.functional as F
def linear_attend(query, key, value, causal=False, chunk=4):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    v = F.pad(value, (0, 1), value=1.0)
    if not causal:
        y = q @ (k.mT @ v)
    else:
        S = 0; ys = []
        for qc, kc, vc in zip(q.split(chunk, 2), k.split(chunk, 2), v.split(chunk, 2)):
            ys.append((qc @ kc.mT).tril() @ vc + (qc @ S if torch.is_tensor(S) else 0))
            S = S + kc.mT @ vc
        y = torch.cat(ys, 2)
    return y[..., :-1] / y[..., -1:].clamp(min=1e-6)
""",
        "einsum and cumsum": TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    if causal:
        S = torch.einsum('bhnd,bhne->bhnde', k, value).cumsum(2)
        return torch.einsum('bhnd,bhnde->bhne', q, S) / (q * k.cumsum(2)).sum(-1, keepdim=True)
    return q @ (k.mT @ value) / (q @ k.sum(2, keepdim=True).mT)
""",
        "a state carried along": """
import torch
def phi(x): return torch.where(x > 0, x + 1, x.exp())
def linear_attention(Q, K, V, *, causal=False):
    B, H, N, D = Q.shape
    out = []
    S, z = torch.zeros(B, H, D, V.shape[-1]), torch.zeros(B, H, D)
    if not causal:
        for n in range(N):
            S += phi(K[:, :, n]).unsqueeze(-1) * V[:, :, n].unsqueeze(-2); z += phi(K[:, :, n])
    for n in range(N):
        if causal:
            S += phi(K[:, :, n]).unsqueeze(-1) * V[:, :, n].unsqueeze(-2); z += phi(K[:, :, n])
        q = phi(Q[:, :, n])
        out.append((q.unsqueeze(-2) @ S).squeeze(-2) / ((q * z).sum(-1, keepdim=True) + 1e-6))
    return torch.stack(out, dim=2)
""",
        "values with a column of ones, head by head": TORCH + """
def linear_attend(query, key, value, causal=False):
    out = torch.empty_like(value)
    v1 = torch.cat([value, torch.ones(*value.shape[:-1], 1)], -1)
    for b in range(len(query)):
        for h in range(query.shape[1]):
            q, k = F.elu(query[b, h]) + 1, F.elu(key[b, h]) + 1
            if causal:
                y = (q[:, :, None] * (k[:, :, None] * v1[b, h][:, None]).cumsum(0)).sum(1)
            else:
                y = q @ (k.T @ v1[b, h])
            out[b, h] = y[:, :-1] / y[:, -1:]
    return out
""",
        "a growing tensor": TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    kv, z = k.transpose(-1, -2) @ value, k.sum(-2)
    if not causal:
        return (q @ kv) / (q @ z[..., None])
    kv, z = torch.zeros_like(kv), torch.zeros_like(z)
    out = value[:, :, :0]
    for i in range(q.size(2)):
        kv = kv + torch.einsum('bhd,bhe->bhde', k[:, :, i], value[:, :, i])
        z = z + k[:, :, i]
        y = torch.einsum('bhd,bhde->bhe', q[:, :, i], kv) / (q[:, :, i] * z).sum(-1)[..., None]
        out = torch.cat([out, y[:, :, None]], dim=2)
    return out
""",
    },
    "pooled-attention": {
        "sum first": """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    alpha = ((x @ W_q.T) @ (x.sum(1) @ W_k.T)[:, :, None])[..., 0] / T ** 0.5
    return (alpha.softmax(-1)[:, None] @ (x @ W_v.T)).expand(-1, T, -1)
""",
        "one matrix, pooled inputs": """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    B, T, C = x.shape
    s = torch.einsum('btc,bc->bt', x @ (W_q.T @ W_k), x.sum(dim=1)) / T ** .5
    w = torch.exp(s - s.max(dim=1, keepdim=True).values)
    pooled = (w[..., None] * x).sum(1) / w.sum(1, keepdim=True)
    return torch.stack([pooled @ W_v.T] * T, dim=1)
""",
        "loops": """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    out = []
    for sample in x:
        T = len(sample)
        total = torch.zeros(W_k.shape[0])
        for x_j in sample:
            total = total + W_k @ x_j
        top, bottom = 0, 0
        for x_t in sample:
            e = torch.exp((W_q @ x_t) @ total / T ** 0.5)
            top, bottom = top + e * (W_v @ x_t), bottom + e
        out.append((top / bottom).repeat(T, 1))
    return torch.stack(out)
""",
        "log-softmax, means times √T": """
import torch
def pooled_attention(x, W_q, W_k, W_v):
    q, k, v = (torch.nn.functional.linear(x, W) for W in (W_q, W_k, W_v))
    a = (q * k.mean(1, keepdim=True)).sum(-1) * x.shape[1] ** 0.5
    y = torch.einsum('bt,bte->be', torch.log_softmax(a, 1).exp(), v)
    return y.unsqueeze(1).repeat(1, x.shape[1], 1)
""",
    },
    "conv-matrix": {
        "a sum of Kronecker products": """
import numpy as np
def conv_matrix(kernel, n, stride=1, padding=0):
    k = np.array(kernel)
    def one(k, n, s, p):
        m = (n + 2 * p - len(k)) // s + 1
        A = np.zeros((m, n + 2 * p))
        for i in range(m): A[i, i*s:i*s+len(k)] = k
        return A[:, p:n + p]
    if k.ndim == 1: return one(k, n, stride, padding)
    # a sum of Kronecker products, one for each entry
    total = 0
    for a in range(k.shape[0]):
        for b in range(k.shape[1]):
            ea, eb = np.zeros(k.shape[0]), np.zeros(k.shape[1]); ea[a] = 1; eb[b] = 1
            total = total + k[a, b] * np.kron(one(ea, n[0], stride, padding), one(eb, n[1], stride, padding))
    return total
""",
        "windows of a unit matrix, keywords alone": """
import torch
def conv_matrix(kernel, n, *, stride=1, padding=0):
    if kernel.ndim == 1:
        M = torch.nn.functional.pad(torch.eye(n), (padding, padding)).unfold(1, len(kernel), stride)
        return (M * kernel).sum(-1).T
    R, C = n
    E = torch.eye(R * C).view(R * C, R, C)
    E = torch.nn.functional.pad(E, [padding] * 4)
    U = E.unfold(1, kernel.shape[0], stride).unfold(2, kernel.shape[1], stride)
    return torch.einsum("pabuv,uv->abp", U, kernel).reshape(-1, R * C)
""",
        "columns from torch's convolution": """
import torch
import torch.nn.functional as F
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        return F.conv1d(torch.eye(n)[:, None], kernel[None, None], stride=stride, padding=padding)[:, 0].T
    eye = torch.eye(n[0] * n[1]).view(-1, 1, *n)
    return F.conv2d(eye, kernel[None, None], stride=stride, padding=padding).flatten(1).T
""",
        "entry by entry, lists": """
def conv_matrix(kernel, n, stride=1, padding=0):
    K = kernel.tolist()
    if not isinstance(K[0], list):
        out = (n + 2 * padding - len(K)) // stride + 1
        return [[K[c - i * stride + padding] if 0 <= c - i * stride + padding < len(K) else 0.0 for c in range(n)] for i in range(out)]
    R, C = n
    kh, kw = len(K), len(K[0])
    rows = []
    for top in range(-padding, R + padding - kh + 1, stride):
        for left in range(-padding, C + padding - kw + 1, stride):
            row = [0.0] * (R * C)
            for a in range(kh):
                for b in range(kw):
                    if 0 <= top + a < R and 0 <= left + b < C:
                        row[(top + a) * C + left + b] = K[a][b]
            rows.append(row)
    return rows
""",
        "padded and cut, numpy": """
import numpy as np
def conv_matrix(kernel, n, stride=1, padding=0):
    k = kernel.numpy()
    if k.ndim == 1:
        k, n, pr = k[None], (1, n), 0
    else:
        pr = padding
    R, C = n; h, w = k.shape
    out = []
    for i in range((R + 2 * pr - h) // (stride if pr or R > 1 else 1) + 1):
        for j in range((C + 2 * padding - w) // stride + 1):
            big = np.zeros((R + 2 * pr, C + 2 * padding))
            big[i * stride:i * stride + h, j * stride:j * stride + w] = k
            out.append(big[pr:pr + R, padding:padding + C].ravel())
    return np.stack(out)
""",
        "unfolded numbers of places, sparse": """
import torch
import torch.nn.functional as F
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        R, C, pad, K, step = 1, n, (0, padding), kernel[None], (1, stride)
    else:
        (R, C), pad, K, step = n, (padding, padding), kernel, (stride, stride)
    at = F.unfold(torch.arange(1., R * C + 1).view(1, 1, R, C), K.shape, padding=pad, stride=step)[0].long()  # taps places
    rows = torch.arange(at.shape[1]).expand_as(at)
    keep = at > 0
    values = K.flatten()[:, None].expand_as(at)[keep]
    return torch.sparse_coo_tensor(torch.stack([rows[keep], at[keep] - 1]), values, (at.shape[1], R * C))
""",
    },
    "locally-connected": {
        "unfold and einsum": LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p = kernel, stride, padding
        self.h, self.w = ((n + 2 * padding - kernel) // stride + 1 for n in size)
        self.weight = nn.Parameter(torch.randn(self.h, self.w, out_channels, in_channels, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(out_channels, self.h, self.w))
    def forward(self, x):
        x = F.pad(x, (self.p,) * 4).unfold(2, self.k, self.s).unfold(3, self.k, self.s)
        return torch.einsum('bchwij,hwocij->bohw', x, self.weight) + self.bias
""",
        "a Linear for every place": LOCAL_HEAD + """
class LocallyConnected(nn.Module):
    def __init__(self, cin, cout, size, kernel, stride=1, padding=0):
        super().__init__()
        self.args = dict(kernel_size=kernel, stride=stride, padding=padding)
        self.h, self.w = [(n + 2 * padding - kernel) // stride + 1 for n in size]
        self.maps = nn.ModuleList([nn.Linear(cin * kernel ** 2, cout) for _ in range(self.h * self.w)])
    def forward(self, x):
        u = F.unfold(x, **self.args)
        return torch.stack([f(u[..., i]) for i, f in enumerate(self.maps)], -1).unflatten(-1, (self.h, self.w))
""",
        "a dense matrix under a mask, no bias": LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        conv = nn.Conv2d(in_channels, out_channels, kernel, stride, padding, bias=False)
        conv.weight.data.fill_(1.0)
        eye = torch.eye(in_channels * size[0] * size[1]).view(-1, in_channels, *size)
        with torch.no_grad():
            found = conv(eye)
        self.shape = found.shape[1:]
        self.register_buffer('mask', (found.flatten(1).T > 0).float())
        self.W = nn.Parameter(torch.randn_like(self.mask))
    def forward(self, x):
        return F.linear(x.flatten(1), self.W * self.mask).view(-1, *self.shape)
""",
        "a grouped convolution over patches": LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.rows = 1 + (size[0] + 2 * padding - kernel) // stride
        self.cols = 1 + (size[1] + 2 * padding - kernel) // stride
        P, taps = self.rows * self.cols, in_channels * kernel * kernel
        self.inner = nn.Conv1d(P * taps, P * out_channels, 1, groups=P)
    def forward(self, x):
        u = F.unfold(x, self.kernel, padding=self.padding, stride=self.stride)  # B taps P
        y = self.inner(u.transpose(1, 2).reshape(len(x), -1, 1))
        return y.view(len(x), self.rows, self.cols, -1).permute(0, 3, 1, 2)
""",
        "loops": LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p, self.o = kernel, stride, padding, out_channels
        self.tops = range(0, size[0] + 2 * padding - kernel + 1, stride)
        self.lefts = range(0, size[1] + 2 * padding - kernel + 1, stride)
        self.weights = nn.ParameterDict({f'{i}_{j}': nn.Parameter(torch.randn(out_channels, in_channels, kernel, kernel)) for i in self.tops for j in self.lefts})
        self.biases = nn.ParameterDict({f'{i}_{j}': nn.Parameter(torch.randn(out_channels)) for i in self.tops for j in self.lefts})
    def forward(self, x):
        x = F.pad(x, [self.p] * 4)
        rows = []
        for i in self.tops:
            rows.append(torch.stack([(x[:, None, :, i:i + self.k, j:j + self.k] * self.weights[f'{i}_{j}']).sum((2, 3, 4)) + self.biases[f'{i}_{j}'] for j in self.lefts], -1))
        return torch.stack(rows, 2)
""",
    },
    "dialogue-loss": {
        "no module, places of real targets": """
import torch
class DialogueLoss:
    def __call__(self, logits, input_ids, inp_mask):
        lp = torch.log_softmax(logits.double(), 2)
        B, T = input_ids.shape
        b, t = torch.nonzero(inp_mask[:, 1:], as_tuple=True)
        return -lp[b, t, input_ids[b, t + 1]].mean()
""",
        "ignore_index": LOSS_HEAD + """
        targets = input_ids[:, 1:].masked_fill(inp_mask[:, 1:] == 0, -100)
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), targets.reshape(-1))
""",
        "no reduction, a weighted mean": LOSS_HEAD + """
        B, T, V = logits.shape
        loss = nn.CrossEntropyLoss(reduction='none')(logits[:, :T - 1].permute(0, 2, 1), input_ids[:, 1:])
        m = inp_mask[:, 1:].to(loss.dtype)
        return (loss * m).sum() / m.sum()
""",
        "loops": LOSS_HEAD + """
        terms = []
        for b in range(logits.shape[0]):
            for t in range(logits.shape[1] - 1):
                if inp_mask[b, t + 1] == 1:
                    z = logits[b, t]
                    terms.append(torch.logsumexp(z, 0) - z[input_ids[b, t + 1]])
        return torch.stack(terms).mean()
""",
        "one-hot": LOSS_HEAD + """
        p = torch.log_softmax(logits, -1)[:, :-1]
        hot = F.one_hot(input_ids[:, 1:], logits.shape[-1]).float()
        real = inp_mask[:, 1:].bool()
        return -(p * hot).sum(-1)[real].mean()
""",
        "padding by its id": LOSS_HEAD + """
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten(), ignore_index=1)
""",
    },
    "tokenizer": {
        "plain": TOKENIZER,
        "lists and dicts, pad_sequence": """
import nltk, torch
from torch.nn.utils.rnn import pad_sequence
class MyTokenizer:
    start, pad, unk = 0, 1, 2
    def __init__(self, raw_text):
        words = ['<START>', '<PAD>', '<UNK>']
        words.extend(sorted(set(nltk.word_tokenize(raw_text))))
        self.id_to_tok = {}
        self.tok_to_id = {}
        for i, w in enumerate(words):
            self.id_to_tok[i], self.tok_to_id[w] = w, i
    @property
    def vocab_size(self): return len(self.id_to_tok)
    def encode(self, text):
        ids = [self.start]
        for w in nltk.word_tokenize(text):
            if w in self.tok_to_id: ids.append(self.tok_to_id[w])
            else: ids.append(self.unk)
        return torch.LongTensor(ids)
    def decode(self, ids):
        out = ''
        for i in ids.tolist(): out += ' ' + self.id_to_tok[i]
        return out[1:]
    def pad_examples(self, examples):
        return pad_sequence(examples, batch_first=True, padding_value=self.pad)
""",
        "regular expressions, plain lists": """
import re
from collections import defaultdict
class Tokenizer:
    def __init__(self, raw_text):
        self.id_to_tok = ('<START>', '<PAD>', '<UNK>') + tuple(sorted({*self.split(raw_text)}))
        self.tok_to_id = dict(zip(self.id_to_tok, range(len(self.id_to_tok))))
        self.start, self.pad, self.unk = range(3)
        self.vocab_size = len(self.tok_to_id)
    @staticmethod
    def split(text): return re.findall(r"\\w+|[^\\w\\s]", text)
    def encode(self, text):
        known = defaultdict(lambda: self.unk, self.tok_to_id)
        return [self.start] + [known[w] for w in self.split(text)]
    def decode(self, ids): return ' '.join(map(self.id_to_tok.__getitem__, ids))
    def pad_examples(self, examples):
        longest = max(map(len, examples))
        return [list(e) + [self.pad] * (longest - len(e)) for e in examples]
""",
    },
    "dialogue-dataset": {
        "lazy": DATASET,
        "eager, its own padding": """
import torch
class DialogueDataset(torch.utils.data.Dataset):
    def __init__(self, tokenizer, lines, max_N):
        super().__init__()
        self.pad = tokenizer.pad
        self.data = [tokenizer.encode(line)[:max_N] for line in lines]
    def __getitem__(self, idx): return self.data[idx]
    def __len__(self): return len(self.data)
    def collate_fn(self, batch):
        T = max(x.numel() for x in batch)
        ids = torch.full((len(batch), T), self.pad, dtype=torch.long)
        mask = torch.zeros(len(batch), T)
        for b, x in enumerate(batch):
            ids[b, :len(x)] = x
            mask[b, :len(x)] = 1
        return {"input_ids": ids, "input_mask": mask, "lengths": [len(x) for x in batch]}
""",
        "a function beside it, bools": """
import torch
import torch.nn.functional as F
class DialogueDataset:
    def __init__(self, tokenizer, lines, max_N):
        self.items = []
        for line in lines:
            ids = tokenizer.encode(line.strip())
            self.items.append(ids if len(ids) <= max_N else ids[0:max_N])
    def __len__(self): return len(self.items)
    def __getitem__(self, i): return self.items[i]
def collate_fn(examples):
    n = max(len(e) for e in examples)
    ids = torch.stack([F.pad(e, (0, n - len(e)), value=1) for e in examples])
    lengths = torch.tensor([len(e) for e in examples])
    return dict(input_ids=ids, input_mask=torch.arange(n)[None] < lengths[:, None])
""",
        "plain lists": """
import torch
class DialogueDataset(torch.utils.data.Dataset):
    def __init__(self, tokenizer, lines, max_N):
        self.tok, self.n, self.lines = tokenizer, max_N, list(lines)
    def __len__(self): return len(self.lines)
    def __getitem__(self, i): return self.tok.encode(self.lines[i]).tolist()[:self.n]
    def collate_fn(self, examples):
        ids = self.tok.pad_examples(examples)
        return {'input_mask': ids.ne(self.tok.pad), 'input_ids': ids}
""",
    },
}  # fmt: skip
