"""Wrong solutions of tasks about functions, whole and in many styles, with the names that a report may give.

They were written before the catalogue of mistakes, from what students do.
"""

TORCH = "import math\nimport torch\nimport torch.nn.functional as F\n"

POSITIONS: list[tuple[str, str]] = [
    ("sin-cos-swapped", TORCH + """
def sinusoidal_positions(T, dim):
    pe = torch.zeros(T, dim)
    pos = torch.arange(T).float().unsqueeze(1)
    div = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    pe[:, 0::2] = torch.cos(pos * div)
    pe[:, 1::2] = torch.sin(pos * div)
    return pe
"""),
    ("positions-from-one", """
import numpy as np
def positional_encoding(T, d):
    out = np.zeros((T, d))
    for pos in range(1, T + 1):
        for i in range(d // 2):
            angle = pos / 10000 ** (2 * i / d)
            out[pos - 1, 2 * i] = np.sin(angle)
            out[pos - 1, 2 * i + 1] = np.cos(angle)
    return out
"""),
    ("exponent-without-two", """
import torch
def sinusoidal_positions(T, dim):
    t = torch.arange(T)[:, None]
    i = torch.arange(dim // 2)[None]
    a = t / 10000 ** (i / dim)
    return torch.stack([a.sin(), a.cos()], -1).reshape(T, dim)
"""),
    ("exponent-not-shared", """
import math
def sinusoidal_positions(T, dim):
    return [[math.sin(t / 10000 ** (c / dim)) if c % 2 == 0 else math.cos(t / 10000 ** (c / dim)) for c in range(dim)] for t in range(T)]
"""),
    ("halves-side-by-side", TORCH + """
def sinusoidal_positions(T, dim):
    half = dim // 2
    freq = torch.exp(-math.log(10000) * torch.arange(half) / half)
    args = torch.arange(T)[:, None].float() * freq[None]
    return torch.cat([torch.sin(args), torch.cos(args)], dim=-1)
"""),
    ("only-sine", """
import torch
def sinusoidal_positions(T, dim):
    pos = torch.arange(T, dtype=torch.float).view(-1, 1)
    i = torch.arange(dim, dtype=torch.float).view(1, -1)
    return torch.sin(pos / 10000 ** (2 * (i // 2) / dim))
"""),
    ("base-thousand", """
import torch
def sinusoidal_positions(T, dim):
    pos = torch.arange(T)[:, None]
    w = 1 / (1000 ** (torch.arange(0, dim, 2) / dim))
    pe = torch.empty(T, dim)
    pe[:, ::2], pe[:, 1::2] = torch.sin(pos * w), torch.cos(pos * w)
    return pe
"""),
    ("frequencies-rise", """
import torch
def sinusoidal_positions(T, dim):
    pos = torch.arange(T)[:, None].double()
    w = 10000 ** (torch.arange(0, dim, 2).double() / dim)
    pe = torch.empty(T, dim)
    pe[:, ::2], pe[:, 1::2] = torch.sin(pos * w).float(), torch.cos(pos * w).float()
    return pe
"""),
    ("table-transposed", """
import torch
def sinusoidal_positions(T, dim):
    pos = torch.arange(T)
    rows = []
    for i in range(0, dim, 2):
        w = 10000.0 ** (-i / dim)
        rows.append(torch.sin(pos * w))
        rows.append(torch.cos(pos * w))
    return torch.stack(rows)
"""),
    ("positions-as-fractions", """
import torch
def sinusoidal_positions(T, dim):
    pos = torch.linspace(0, 1, T)[:, None]
    w = 10000.0 ** (-torch.arange(0, dim, 2) / dim)
    out = torch.zeros(T, dim)
    out[:, 0::2] = (pos * w).sin(); out[:, 1::2] = (pos * w).cos()
    return out
"""),
    ("exponent-doubled", """
import torch
def sinusoidal_positions(T, dim):
    out = torch.zeros(T, dim)
    for t in range(T):
        for i in range(0, dim, 2):
            angle = torch.tensor(t / 10000 ** (2 * i / dim))
            out[t, i] = torch.sin(angle)
            out[t, i + 1] = torch.cos(angle)
    return out
"""),
    ("exponent-of-half", """
import torch
def sinusoidal_positions(T, dim):
    half = dim // 2
    w = 10000.0 ** (-torch.arange(half) / (half - 1))
    a = torch.arange(T)[:, None] * w
    return torch.stack((a.sin(), a.cos()), dim=2).flatten(1)
"""),
    ("no-power", """
import math, torch
def sinusoidal_positions(T, dim):
    pe = torch.zeros(T, dim)
    for t in range(T):
        for i in range(dim // 2):
            pe[t, 2 * i] = math.sin(t / (10000 * 2 * i / dim + 1e-9)) if i else math.sin(t)
            pe[t, 2 * i + 1] = math.cos(t / (10000 * 2 * i / dim + 1e-9)) if i else math.cos(t)
    return pe
"""),
    ("frequency-from-one", """
import torch
def sinusoidal_positions(T, dim):
    t = torch.arange(T)[:, None]
    i = torch.arange(1, dim // 2 + 1)[None]
    a = t / 10000 ** (2 * i / dim)
    return torch.stack([a.sin(), a.cos()], -1).flatten(1)
"""),
    ("degrees", """
import math
def sinusoidal_positions(T, dim):
    rows = []
    for t in range(T):
        row = []
        for i in range(dim // 2):
            a = math.radians(t / 10000 ** (2 * i / dim))
            row += [math.sin(a), math.cos(a)]
        rows.append(row)
    return rows
"""),
]  # fmt: skip

LINEAR: list[tuple[str, str]] = [
    ("feature-missing", TORCH + """
def linear_attend(query, key, value, causal=False):
    if causal:
        S = torch.einsum('bhnd,bhne->bhnde', key, value).cumsum(2)
        z = key.cumsum(2)
        return torch.einsum('bhnd,bhnde->bhne', query, S) / (query * z).sum(-1, keepdim=True)
    S = key.transpose(-2, -1) @ value
    z = key.sum(2, keepdim=True)
    return query @ S / (query * z).sum(-1, keepdim=True)
"""),
    ("normaliser-forgotten", TORCH + """
def linear_attend(q, k, v, causal=False):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    if not causal:
        return q @ (k.mT @ v)
    S = (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(dim=2)
    return (q.unsqueeze(-2) @ S).squeeze(-2)
"""),
    ("causal-ignored", TORCH + """
def linear_attention(Q, K, V, causal=False):
    phi = lambda x: F.elu(x) + 1
    Q, K = phi(Q), phi(K)
    KV = torch.einsum('bhnd,bhne->bhde', K, V)
    Z = 1 / torch.einsum('bhnd,bhd->bhn', Q, K.sum(2))
    return torch.einsum('bhnd,bhde,bhn->bhne', Q, KV, Z)
"""),
    ("quadratic", TORCH + """
def linear_attend(query, key, value, causal=False):
    A = (F.elu(query) + 1) @ (F.elu(key) + 1).transpose(-1, -2)
    if causal:
        A = A * torch.ones(A.shape[-2:]).tril()
    return A / A.sum(-1, keepdim=True) @ value
"""),
    ("softmax-kept", TORCH + """
def linear_attend(query, key, value, causal=False):
    s = query @ key.mT / query.shape[-1] ** 0.5
    if causal:
        n = s.shape[-1]
        s = s.masked_fill(torch.ones(n, n).triu(1).bool(), float('-inf'))
    return s.softmax(-1) @ value
"""),
    ("normaliser-not-causal", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    z = (q @ k.sum(dim=2).unsqueeze(-1))
    if causal:
        kv = torch.cumsum(k[..., :, None] * value[..., None, :], dim=2)
        num = torch.einsum('bhnd,bhnde->bhne', q, kv)
    else:
        num = q @ (k.transpose(2, 3) @ value)
    return num / z
"""),
    ("feature-without-one", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query), F.elu(key)
    if causal:
        kv = torch.cumsum(k[..., :, None] * value[..., None, :], dim=2)
        z = torch.cumsum(k, 2)
        return torch.einsum('bhnd,bhnde->bhne', q, kv) / torch.einsum('bhnd,bhnd->bhn', q, z)[..., None]
    return q @ (k.transpose(2, 3) @ value) / (q @ k.sum(2)[..., None])
"""),
    ("feature-of-queries-only", TORCH + """
def linear_attend(query, key, value, causal=False):
    q = F.elu(query) + 1
    out = torch.zeros_like(value)
    B, H, N, D = q.shape
    S = torch.zeros(B, H, D, value.shape[-1]); z = torch.zeros(B, H, D)
    if not causal:
        S = key.mT @ value; z = key.sum(2)
    for i in range(N):
        if causal:
            S = S + key[:, :, i, :, None] * value[:, :, i, None, :]; z = z + key[:, :, i]
        out[:, :, i] = (q[:, :, i, None] @ S)[:, :, 0] / (q[:, :, i] * z).sum(-1, keepdim=True)
    return out
"""),
    ("state-too-late", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = 1 + F.elu(query), 1 + F.elu(key)
    if not causal:
        return q @ (k.mT @ value) / (q @ k.sum(2, keepdim=True).mT)
    B, H, N, D = q.shape
    S, z, outs = torch.zeros(B, H, D, value.size(-1)), torch.zeros(B, H, D), []
    for n in range(N):
        outs.append(torch.einsum('bhd,bhde->bhe', q[:, :, n], S) / ((q[:, :, n] * z).sum(-1, keepdim=True) + 1e-6))
        S = S + torch.einsum('bhd,bhe->bhde', k[:, :, n], value[:, :, n])
        z = z + k[:, :, n]
    return torch.stack(outs, 2)
"""),
    ("feature-relu", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.relu(query) + 1e-6, F.relu(key) + 1e-6
    if causal:
        kv = torch.cumsum(k[..., :, None] * value[..., None, :], dim=2)
        return torch.einsum('bhnd,bhnde->bhne', q, kv) / (q * k.cumsum(2)).sum(-1, keepdim=True)
    return q @ (k.transpose(2, 3) @ value) / (q @ k.sum(2)[..., None])
"""),
    ("quadratic", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    if not causal:
        return q @ (k.mT @ value) / (q @ k.sum(2, keepdim=True).mT)
    outs = []
    for i in range(q.shape[2]):
        S = k[:, :, :i + 1].mT @ value[:, :, :i + 1]
        z = k[:, :, :i + 1].sum(2, keepdim=True)
        outs.append(q[:, :, i:i + 1] @ S / (q[:, :, i:i + 1] * z).sum(-1, keepdim=True))
    return torch.cat(outs, 2)
"""),
    ("sums-over-width", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    if causal:
        kv = torch.cumsum(k[..., :, None] * value[..., None, :], dim=2)
        num = torch.einsum('bhnd,bhnde->bhne', q, kv)
    else:
        num = q @ (k.mT @ value)
    return num / num.sum(-1, keepdim=True)
"""),
    ("divided-by-length", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    N = q.shape[2]
    if causal:
        kv = torch.cumsum(k[..., :, None] * value[..., None, :], dim=2)
        return torch.einsum('bhnd,bhnde->bhne', q, kv) / torch.arange(1, N + 1).view(1, 1, N, 1)
    return q @ (k.mT @ value) / N
"""),
    ("feature-exp", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = query.exp(), key.exp()
    if causal:
        kv = torch.cumsum(torch.einsum('bhnd,bhne->bhnde', k, value), dim=2)
        return torch.einsum('bhnd,bhnde->bhne', q, kv) / (q * k.cumsum(2)).sum(-1, keepdim=True)
    return q @ (k.transpose(2, 3) @ value) / (q @ k.sum(2)[..., None])
"""),
    ("anti-causal", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    kv = torch.einsum('bhnd,bhne->bhnde', k, value)
    z = k
    if causal:
        kv, z = kv.flip(2).cumsum(2).flip(2), z.flip(2).cumsum(2).flip(2)
    else:
        kv, z = kv.sum(2, keepdim=True).expand_as(kv), z.sum(2, keepdim=True).expand_as(z)
    return torch.einsum('bhnd,bhnde->bhne', q, kv) / (q * z).sum(-1)[..., None]
"""),
    ("feature-softmax", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = query.softmax(-1), key.softmax(-2)
    if causal:
        kv = torch.cumsum(torch.einsum('bhnd,bhne->bhnde', k, value), dim=2)
        return torch.einsum('bhnd,bhnde->bhne', q, kv)
    return q @ (k.mT @ value)
"""),
    ("sum-over-heads", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    if causal:
        kv = torch.cumsum(torch.einsum('bhnd,bhne->bhnde', k, value), dim=1)
        z = k.cumsum(1)
        return torch.einsum('bhnd,bhnde->bhne', q, kv) / (q * z).sum(-1, keepdim=True)
    return q @ (k.transpose(2, 3) @ value) / (q @ k.sum(2)[..., None])
"""),
    ("causal-always", TORCH + """
def linear_attend(query, key, value, causal=False):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    kv = torch.cumsum(torch.einsum('bhnd,bhne->bhnde', k, value), dim=2)
    z = k.cumsum(2)
    return torch.einsum('bhnd,bhnde->bhne', q, kv) / (q * z).sum(-1, keepdim=True)
"""),
]  # fmt: skip

POOLED: list[tuple[str, str]] = [
    ("quadratic", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T
    T = x.shape[1]
    alpha = (q @ k.transpose(1, 2)).sum(-1) / T ** 0.5
    y = torch.softmax(alpha, -1).unsqueeze(1) @ v
    return y.expand(-1, T, -1)
"""),
    ("scale-missing", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    q, v = x @ W_q.T, x @ W_v.T
    k = x.sum(1) @ W_k.T
    a = torch.einsum('btd,bd->bt', q, k).softmax(1)
    return torch.einsum('bt,bte->be', a, v)[:, None].repeat(1, T, 1)
"""),
    ("scale-of-width", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    q, v = x @ W_q.T, x @ W_v.T
    k = (x @ W_k.T).sum(1)
    a = (torch.einsum('btd,bd->bt', q, k) / W_q.shape[0] ** 0.5).softmax(1)
    return torch.einsum('bt,bte->be', a, v)[:, None].repeat(1, T, 1)
"""),
    ("scale-not-rooted|keys-averaged", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    k = (x @ W_k.T).mean(1, keepdim=True)
    alpha = ((x @ W_q.T) * k).sum(-1)
    w = alpha.exp() / alpha.exp().sum(1, keepdim=True)
    y = (w[..., None] * (x @ W_v.T)).sum(1, keepdim=True)
    return y.repeat(1, T, 1)
"""),
    ("softmax-missing", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    B, T, C = x.shape
    alpha = (x @ W_q.T) @ (W_k @ x.sum(1).unsqueeze(-1)) / T ** 0.5
    w = alpha / alpha.sum(1, keepdim=True)
    return (w * (x @ W_v.T)).sum(1, keepdim=True).expand(B, T, -1)
"""),
    ("normaliser-forgotten", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    B, T, C = x.shape
    alpha = (x @ W_q.T) @ (W_k @ x.sum(1).unsqueeze(-1)) / T ** 0.5
    return (alpha.exp() * (x @ W_v.T)).sum(1, keepdim=True).expand(B, T, -1)
"""),
    ("ordinary-attention", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T
    return torch.softmax(q @ k.mT / x.shape[1] ** 0.5, -1) @ v
"""),
    ("queries-and-keys-swapped", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    q = (x @ W_q.T).sum(1, keepdim=True)
    alpha = (q * (x @ W_k.T)).sum(-1) / T ** 0.5
    return (alpha.softmax(-1)[:, None] @ (x @ W_v.T)).expand(-1, T, -1)
"""),
    ("not-pooled", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    alpha = torch.einsum('btd,bd->bt', x @ W_q.T, x.sum(1) @ W_k.T) / T ** 0.5
    return alpha.softmax(-1)[..., None] * (x @ W_v.T)
"""),
    ("one-output-only", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    alpha = torch.einsum('btd,bd->bt', x @ W_q.T, x.sum(1) @ W_k.T) / T ** 0.5
    return torch.einsum('bt,bte->be', alpha.softmax(-1), x @ W_v.T)
"""),
    ("softmax-over-batch", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    alpha = torch.einsum('btd,bd->bt', x @ W_q.T, x.sum(1) @ W_k.T) / T ** 0.5
    return torch.einsum('bt,bte->be', alpha.softmax(0), x @ W_v.T)[:, None].expand(-1, T, -1)
"""),
    ("causal-sums", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T
    alpha = (q * k.cumsum(1)).sum(-1) / T ** 0.5
    return (alpha.softmax(-1).unsqueeze(1) @ v).expand(-1, T, -1)
"""),
    ("values-not-mapped", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    alpha = torch.einsum('btd,bd->bt', x @ W_q.T, x.sum(1) @ W_k.T) / T ** 0.5
    return (alpha.softmax(-1).unsqueeze(1) @ x).expand(-1, T, -1)
"""),
    ("own-key-only", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    T = x.shape[1]
    alpha = ((x @ W_q.T) * (x @ W_k.T)).sum(-1) / T ** 0.5
    return (alpha.softmax(-1).unsqueeze(1) @ (x @ W_v.T)).repeat(1, T, 1)
"""),
    ("quadratic", """
import torch
def pooled_attend(x, W_q, W_k, W_v):
    B, T, C = x.shape
    out = []
    for b in range(B):
        alphas = []
        for t in range(T):
            s = 0
            for j in range(T):
                s = s + (W_q @ x[b, t]) @ (W_k @ x[b, j])
            alphas.append(s / T ** 0.5)
        a = torch.stack(alphas).softmax(0)
        y = sum(a[j] * (W_v @ x[b, j]) for j in range(T))
        out.append(y.expand(T, -1))
    return torch.stack(out)
"""),
]  # fmt: skip

WRONG = {"sinusoidal-positions": POSITIONS, "linear-attention": LINEAR, "pooled-attention": POOLED}
