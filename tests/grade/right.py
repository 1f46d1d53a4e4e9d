"""Right solutions, each in another manner: no report on them may be an alarm."""

from tests.grade import right_functions
from tests.grade.right_later import RIGHT_LATER
from tests.grade.right_modules import RIGHT_MODULES

HEAD = """
import torch, math
from torch import nn
import torch.nn.functional as F
class AttentionHead(nn.Module):
"""
MANY = HEAD.replace("AttentionHead", "MultiHeadedAttention")

RIGHT: dict[str, dict[str, str]] = {
    "attention-head": {
        "plain": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden)
        self.n = n_hidden
    def forward(self, x, attn_mask=None):
        s = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(self.n)
        if attn_mask is not None:
            s = s.masked_fill(attn_mask == 0, float('-inf'))
        a = F.softmax(s, dim=-1)
        return a @ self.v(x), a
""",
        "einsum, other order, no biases": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.Wv = nn.Linear(dim, n_hidden, bias=False)
        self.Wk = nn.Linear(dim, n_hidden, bias=False)
        self.Wq = nn.Linear(dim, n_hidden, bias=False)
    def forward(self, x, attn_mask=None):
        q, k, v = self.Wq(x), self.Wk(x), self.Wv(x)
        s = torch.einsum('bid,bjd->bij', q, k) * q.shape[-1] ** -0.5
        if attn_mask is not None:
            s = s + torch.where(attn_mask.bool(), 0.0, -1e9)
        a = torch.softmax(s, -1)
        return torch.einsum('bij,bjd->bid', a, v), a
""",
        "loops": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.a = nn.Linear(dim, n_hidden); self.b = nn.Linear(dim, n_hidden); self.c = nn.Linear(dim, n_hidden)
        self.h = n_hidden
    def forward(self, x, attn_mask=None):
        B, T, _ = x.shape
        outs, alphas = [], []
        for b in range(B):
            q, k, v = self.a(x[b]), self.b(x[b]), self.c(x[b])
            rows = []
            for i in range(T):
                s = torch.stack([(q[i] * k[j]).sum() / self.h ** 0.5 for j in range(T)])
                if attn_mask is not None:
                    m = attn_mask if attn_mask.dim() == 2 else attn_mask[b % attn_mask.shape[0]]
                    e = torch.exp(s - s.max()) * m[i]
                else:
                    e = torch.exp(s - s.max())
                rows.append(e / e.sum())
            A = torch.stack(rows)
            alphas.append(A); outs.append(A @ v)
        return torch.stack(outs), torch.stack(alphas)
""",
        "fused qkv": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * n_hidden)
    def forward(self, x, attn_mask=None):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        s = q @ k.mT / math.sqrt(q.size(-1))
        if attn_mask is not None: s = s.masked_fill(~attn_mask.bool(), torch.finfo(s.dtype).min)
        a = s.softmax(-1)
        return a @ v, a
""",
        "scaled_dot_product_attention": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.key = nn.Linear(dim, n_hidden); self.query = nn.Linear(dim, n_hidden); self.value = nn.Linear(dim, n_hidden)
    def forward(self, x, attn_mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        m = None if attn_mask is None else attn_mask.bool()
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=m)
        T = x.shape[1]
        eye = torch.eye(T).expand(len(x), T, T)
        return out, F.scaled_dot_product_attention(q, k, eye, attn_mask=m)
""",
        "raw parameters": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.W_Q = nn.Parameter(torch.randn(dim, n_hidden)); self.W_K = nn.Parameter(torch.randn(dim, n_hidden))
        self.W_V = nn.Parameter(torch.randn(dim, n_hidden))
    def forward(self, x, attn_mask=None):
        Q, K, V = x @ self.W_Q, x @ self.W_K, x @ self.W_V
        s = Q @ K.transpose(-1, -2) / K.shape[-1] ** 0.5
        if attn_mask is not None: s[attn_mask.expand_as(s) == 0] = -float('inf')
        a = nn.Softmax(dim=2)(s)
        return a.bmm(V), a
""",
        "one stacked parameter, scale at the query": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, dim, n_hidden)); self.b = nn.Parameter(torch.zeros(3, n_hidden))
    def forward(self, x, attn_mask=None):
        q, k, v = (x @ self.w[i] + self.b[i] for i in range(3))
        s = (q / q.shape[-1] ** .5) @ k.mT
        if attn_mask is not None: s = s.masked_fill(attn_mask < 0.5, -1e30)
        a = torch.exp(s - torch.logsumexp(s, -1, keepdim=True))
        return a @ v, a
""",
        "dropout": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.to_qkv = nn.ModuleList([nn.Linear(dim, n_hidden) for _ in range(3)]); self.drop = nn.Dropout(0.1)
        self.register_buffer('scale', torch.tensor(n_hidden).float().rsqrt())
    def forward(self, x, attn_mask=None):
        q, k, v = [f(x) for f in self.to_qkv]
        s = torch.matmul(q, k.permute(0, 2, 1)).mul(self.scale)
        if attn_mask is not None: s = torch.where(attn_mask == 1, s, torch.tensor(-1e20))
        a = self.drop(s.softmax(-1))
        return torch.bmm(a, v), a
""",
    },
    "multi-headed-attention": {
        "a list of heads": HEAD + """
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden)
        self.n = n_hidden
    def forward(self, x, attn_mask=None):
        s = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(self.n)
        if attn_mask is not None: s = s.masked_fill(attn_mask == 0, float('-inf'))
        a = F.softmax(s, dim=-1)
        return a @ self.v(x), a
class MultiHeadedAttention(nn.Module):
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.heads = nn.ModuleList([AttentionHead(dim, n_hidden) for _ in range(num_heads)])
        self.out = nn.Linear(n_hidden * num_heads, dim)
    def forward(self, x, attn_mask=None):
        r = [h(x, attn_mask) for h in self.heads]
        return self.out(torch.cat([o for o, _ in r], -1)), torch.stack([a for _, a in r], 1)
""",
        "batched heads": MANY + """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.H, self.h = num_heads, n_hidden
        self.q = nn.Linear(dim, num_heads * n_hidden); self.k = nn.Linear(dim, num_heads * n_hidden); self.v = nn.Linear(dim, num_heads * n_hidden)
        self.o = nn.Linear(num_heads * n_hidden, dim)
    def forward(self, x, attn_mask=None):
        B, T, _ = x.shape
        q, k, v = (f(x).view(B, T, self.H, self.h).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = q @ k.mT / self.h ** .5
        if attn_mask is not None:
            m = attn_mask if attn_mask.dim() == 3 else attn_mask[None]
            s = s.masked_fill(m[:, None] == 0, -1e9)
        a = s.softmax(-1)
        return self.o((a @ v).transpose(1, 2).reshape(B, T, -1)), a
""",
        "fused, einsum, no biases": MANY + """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.H, self.h = num_heads, n_hidden
        self.qkv = nn.Linear(dim, 3 * num_heads * n_hidden, bias=False); self.proj = nn.Linear(num_heads * n_hidden, dim, bias=False)
    def forward(self, x, attn_mask=None):
        B, T, _ = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, self.H, self.h).permute(2, 0, 3, 1, 4)
        s = torch.einsum('bhid,bhjd->bhij', q, k) / math.sqrt(self.h)
        if attn_mask is not None:
            m = attn_mask.view(-1, 1, T, T)
            s = s.masked_fill(m == 0, float('-inf'))
        a = s.softmax(-1)
        return self.proj(torch.einsum('bhij,bhjd->bihd', a, v).flatten(2)), a
""",
        "fused by head": MANY + """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.H, self.h = num_heads, n_hidden
        self.qkv = nn.Linear(dim, 3 * num_heads * n_hidden); self.proj = nn.Linear(num_heads * n_hidden, dim)
    def forward(self, x, attn_mask=None):
        B, T, _ = x.shape
        q, k, v = self.qkv(x).reshape(B, T, self.H, 3 * self.h).transpose(1, 2).chunk(3, -1)
        s = q @ k.mT * self.h ** -0.5
        if attn_mask is not None: s = s.masked_fill((attn_mask if attn_mask.ndim == 3 else attn_mask[None]).unsqueeze(1) == 0, -1e9)
        a = s.softmax(-1)
        return self.proj((a @ v).transpose(1, 2).flatten(2)), a
""",
        "raw parameters by head": MANY + """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.WQ = nn.Parameter(torch.randn(num_heads, dim, n_hidden)); self.WK = nn.Parameter(torch.randn(num_heads, dim, n_hidden))
        self.WV = nn.Parameter(torch.randn(num_heads, dim, n_hidden)); self.WO = nn.Parameter(torch.randn(num_heads * n_hidden, dim))
    def forward(self, x, attn_mask=None):
        q, k, v = (torch.einsum('btd,hdn->bhtn', x, w) for w in (self.WQ, self.WK, self.WV))
        s = q @ k.mT / q.shape[-1] ** 0.5
        if attn_mask is not None: s = s.masked_fill((attn_mask if attn_mask.ndim == 3 else attn_mask[None])[:, None] == 0, -1e9)
        a = s.softmax(-1)
        return torch.cat(list((a @ v).unbind(1)), -1) @ self.WO, a
""",
        "nn.MultiheadAttention": MANY + """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        assert dim == n_hidden * num_heads
        self.mha = nn.MultiheadAttention(dim, num_heads, batch_first=True); self.H = num_heads
    def forward(self, x, attn_mask=None):
        if attn_mask is not None:
            m = attn_mask if attn_mask.ndim == 3 else attn_mask[None].expand(len(x), -1, -1)
            attn_mask = (m == 0).repeat_interleave(self.H, 0)
        return self.mha(x, x, x, attn_mask=attn_mask, average_attn_weights=False)
""",
        "output alone, sdpa": MANY + """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.H = num_heads
        self.q, self.k, self.v = (nn.Linear(dim, num_heads * n_hidden) for _ in range(3)); self.o = nn.Linear(num_heads * n_hidden, dim)
    def forward(self, x, attn_mask=None):
        B, T, _ = x.shape
        q, k, v = (f(x).view(B, T, self.H, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        m = None if attn_mask is None else (attn_mask if attn_mask.ndim == 3 else attn_mask[None])[:, None].bool()
        return self.o(F.scaled_dot_product_attention(q, k, v, attn_mask=m).transpose(1, 2).flatten(2))
""",
    },
    "masks": {
        "tril and bool": """
import torch
def autoregressive_mask(T): return torch.ones(T, T).tril().bool()
def strided_mask(T, t): return torch.ones(T, T).tril() * torch.ones(T, T).triu(-t)
def windowed_mask(T, w):
    i = torch.arange(T)
    return ((i[:, None] // w == i // w) & (i[:, None] >= i)).long()
""",
        "loops and lists": """
def causal_mask(T): return [[1 if k <= q else 0 for k in range(T)] for q in range(T)]
def strided_mask(T, t): return [[int(0 <= q - k <= t) for k in range(T)] for q in range(T)]
def windowed_mask(T, w): return [[int(k <= q and q // w == k // w) for k in range(T)] for q in range(T)]
""",
        "numpy, with a batch axis": """
import numpy as np
def autoregressive_mask(T): return np.tri(T)[None]
def strided_mask(T, t): return np.tri(T)[None] - np.tri(T, k=-t - 1)[None]
def windowed_mask(T, w):
    m = np.zeros((1, T, T))
    for s in range(0, T, w):
        e = min(T, s + w)
        m[0, s:e, s:e] = np.tri(e - s)
    return m
""",
    },
    "counting": {
        "formulas": """
def count_autoregressive(n): return n * (n + 1) / 2
def count_strided(n, t):
    t = min(t, n - 1)
    return (2 * n - t) * (t + 1) // 2
def count_windowed(n, w): return n // w * w * (w + 1) // 2 + (n % w) * (n % w + 1) // 2
""",
        "sums": """
def count_autoregressive(n): return sum(range(n + 1))
def count_strided(n, t): return sum(min(i, t) + 1 for i in range(n))
def count_windowed(n, w): return sum(i % w + 1 for i in range(n))
""",
    },
    "scalar-rnn": {
        "a tensor": """
import torch
def scalar_rnn(x, w_x, w_h):
    h = torch.zeros(len(x) + 1)
    for t in range(len(x)): h[t + 1] = w_x * x[t] + w_h * h[t]
    return h[1:]
""",
        "a closed form": "def scalar_rnn(x, w_x, w_h): return [sum(w_h ** (t - s) * w_x * x[s] for s in range(t + 1)) for t in range(len(x))]",
    },
    "vector-rnn": {
        "torch's own cell": """
import torch
def vector_rnn(x, W_x, W_h, b):
    h = x.new_zeros(len(x), len(W_h)); out = []
    for t in range(x.shape[1]):
        h = torch.rnn_tanh_cell(x[:, t], h, W_x, W_h, b, torch.zeros_like(b)); out.append(h)
    return torch.stack(out, dim=1)
""",
        "one example after another": """
import torch
def vector_rnn(x, W_x, W_h, b):
    out = torch.zeros(x.shape[0], x.shape[1], W_h.shape[0])
    for n in range(x.shape[0]):
        h = torch.zeros(W_h.shape[0])
        for t in range(x.shape[1]):
            h = torch.tanh(W_x @ x[n, t] + W_h @ h + b); out[n, t] = h
    return out
""",
    },
    "grid-rnn": {
        "padded": """
import torch
def grid_rnn(x, W_in, W_left, W_top):
    B, R, C, _ = x.shape
    h = torch.zeros(B, R + 1, C + 1, W_left.shape[0])
    for i in range(R):
        for j in range(C):
            h[:, i + 1, j + 1] = torch.tanh(x[:, i, j] @ W_in.T + h[:, i + 1, j] @ W_left.T + h[:, i, j + 1] @ W_top.T)
    return h[:, 1:, 1:]
""",
        "diagonals": """
import torch
def grid_rnn(x, W_in, W_left, W_top):
    B, R, C, _ = x.shape
    out = {}
    zero = torch.zeros(B, W_left.shape[0])
    for d in range(R + C - 1):
        for i in range(max(0, d - C + 1), min(R, d + 1)):
            j = d - i
            out[i, j] = (x[:, i, j] @ W_in.T + out.get((i, j - 1), zero) @ W_left.T + out.get((i - 1, j), zero) @ W_top.T).tanh()
    return torch.stack([torch.stack([out[i, j] for j in range(C)], 1) for i in range(R)], 1)
""",
    },
}  # fmt: skip
RIGHT |= RIGHT_MODULES
RIGHT |= right_functions.RIGHT
for _task, _solutions in RIGHT_LATER.items():
    RIGHT[_task] |= _solutions
