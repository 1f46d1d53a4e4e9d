"""Right solutions of the tasks that ask for whole models, each in another manner."""

PRE = """
import torch, math
from torch import nn
import torch.nn.functional as F
"""
HEADS = """
class AttentionHead(nn.Module):
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden)
        self.n_hidden = n_hidden
    def forward(self, x, attn_mask=None):
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        scores = q @ k.transpose(1, 2) / math.sqrt(self.n_hidden)
        if attn_mask is not None:
            scores = scores.masked_fill(attn_mask == 0, float('-inf'))
        alpha = torch.softmax(scores, dim=-1)
        return alpha @ v, alpha
class MultiHeadedAttention(nn.Module):
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.heads = nn.ModuleList([AttentionHead(dim, n_hidden) for _ in range(num_heads)])
        self.W_O = nn.Linear(num_heads * n_hidden, dim)
    def forward(self, x, attn_mask=None):
        outs, alphas = [], []
        for head in self.heads:
            out, alpha = head(x, attn_mask)
            outs.append(out); alphas.append(alpha)
        return self.W_O(torch.cat(outs, dim=-1)), torch.stack(alphas, dim=1)
class FFN(nn.Module):
    def __init__(self, dim, n_hidden):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, n_hidden), nn.GELU(), nn.Linear(n_hidden, dim))
    def forward(self, x):
        return self.net(x)
class AttentionResidual(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads):
        super().__init__()
        self.attn = MultiHeadedAttention(dim, attn_dim, num_heads)
        self.ffn = FFN(dim, mlp_dim)
    def forward(self, x, attn_mask):
        attn_out, alphas = self.attn(x, attn_mask)
        x = attn_out + x
        x = self.ffn(x) + x
        return x, alphas
class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.layers = nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads) for _ in range(num_layers)])
    def forward(self, x, attn_mask=None, return_attn=False):
        collected = []
        for layer in self.layers:
            x, alphas = layer(x, attn_mask)
            collected.append(alphas)
        return x, (torch.stack(collected, dim=1) if return_attn else None)
"""
# Fused and batched heads in one class, einsum, no biases in attention, every layer's parts in lists of their own.
FUSED = """
class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.H, self.h = num_heads, attn_dim
        self.qkvs = nn.ModuleList([nn.Linear(dim, 3 * attn_dim * num_heads, bias=False) for _ in range(num_layers)])
        self.projs = nn.ModuleList([nn.Linear(attn_dim * num_heads, dim, bias=False) for _ in range(num_layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(num_layers)])
        self.ups = nn.ModuleList([nn.Linear(dim, mlp_dim) for _ in range(num_layers)])
        self.downs = nn.ModuleList([nn.Linear(mlp_dim, dim) for _ in range(num_layers)])
    def attend(self, i, x, mask):
        B, T, _ = x.shape
        q, k, v = self.qkvs[i](x).view(B, T, 3, self.H, self.h).permute(2, 0, 3, 1, 4)
        s = torch.einsum('bhid,bhjd->bhij', q, k) * self.h ** -0.5
        if mask is not None:
            s = s + (1 - mask.float().reshape(-1, 1, T, T)) * -1e9
        a = s.softmax(dim=-1)
        return self.projs[i](torch.einsum('bhij,bhjd->bihd', a, v).reshape(B, T, -1)), a
    def forward(self, x, attn_mask=None, return_attn=False):
        maps = []
        for i in range(len(self.qkvs)):
            y, a = self.attend(i, x, attn_mask)
            x = x + y
            x = x + self.downs[i](F.gelu(self.ups[i](self.norms[i](x))))
            maps.append(a)
        if return_attn:
            return x, torch.stack(maps, 1)
        return x, None
"""
# scaled_dot_product_attention, where weights come from values that are the identity; sub-blocks of layers named oddly.
SDPA = """
class Layer(nn.Module):
    def __init__(self, d, a, m, H):
        super().__init__()
        self.H = H
        self.linear_value = nn.Linear(d, a * H); self.linear_key = nn.Linear(d, a * H); self.linear_query = nn.Linear(d, a * H)
        self.merge = nn.Linear(a * H, d)
        self.fc1, self.fc2, self.ln = nn.Linear(d, m), nn.Linear(m, d), nn.LayerNorm(d)
    def split(self, t):
        return t.unflatten(-1, (self.H, -1)).transpose(1, 2)
    def forward(self, x, mask):
        q, k, v = self.split(self.linear_query(x)), self.split(self.linear_key(x)), self.split(self.linear_value(x))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        eye = torch.eye(x.size(1)).expand(x.size(0), self.H, -1, -1)
        w = F.scaled_dot_product_attention(q, k, eye, attn_mask=mask)
        x = x + self.merge(out.transpose(1, 2).flatten(2))
        return x + self.fc2(F.gelu(self.fc1(self.ln(x)))), w
class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        for n in range(num_layers):
            self.add_module('block%d' % n, Layer(dim, attn_dim, mlp_dim, num_heads))
        self.n = num_layers
    def forward(self, x, attn_mask=None, return_attn=False):
        if attn_mask is not None:
            attn_mask = (attn_mask[None, None] if attn_mask.dim() == 2 else attn_mask[:, None]).bool()
        weights = ()
        for n in range(self.n):
            x, w = getattr(self, 'block%d' % n)(x, attn_mask)
            weights += (w,)
        return x, list(weights) if return_attn else None
"""
TORCH = """
class Block(nn.Module):
    def __init__(self, dim, mlp_dim, num_heads):
        super().__init__()
        self.mha = nn.MultiheadAttention(dim, num_heads, batch_first=True)
        self.ffn = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, mlp_dim), nn.GELU(), nn.Dropout(0.1), nn.Linear(mlp_dim, dim))
        self.num_heads = num_heads
    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask if mask.dim() == 3 else mask.unsqueeze(0)
            mask = (mask == 0).expand(x.shape[0], -1, -1).repeat_interleave(self.num_heads, dim=0)
        out, w = self.mha(x, x, x, attn_mask=mask, need_weights=True, average_attn_weights=False)
        x = x + out
        return x + self.ffn(x), w
class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        assert attn_dim * num_heads == dim, 'nn.MultiheadAttention wants it so'
        self.blocks = nn.ModuleList(Block(dim, mlp_dim, num_heads) for _ in range(num_layers))
    def forward(self, x, attn_mask=None, return_attn=False):
        ws = []
        for b in self.blocks:
            x, w = b(x, attn_mask)
            ws.append(w)
        return (x, torch.stack(ws, 1)) if return_attn else (x, None)
"""
# Raw parameters and loops over heads and layers; one module for everything.
RAW = """
class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        P = lambda *s: nn.Parameter(torch.randn(*s) / s[-2] ** 0.5)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            m = nn.Module()
            m.wq, m.wk, m.wv = P(num_heads, dim, attn_dim), P(num_heads, dim, attn_dim), P(num_heads, dim, attn_dim)
            m.wo = P(num_heads * attn_dim, dim)
            m.norm = nn.LayerNorm(dim); m.lin1 = nn.Linear(dim, mlp_dim); m.lin2 = nn.Linear(mlp_dim, dim)
            self.layers.append(m)
    def forward(self, x, attn_mask=None, return_attn=False):
        all_w = []
        for m in self.layers:
            outs, ws = [], []
            for h in range(m.wq.shape[0]):
                q, k, v = x @ m.wq[h], x @ m.wk[h], x @ m.wv[h]
                s = q.bmm(k.transpose(1, 2)) / q.shape[2] ** 0.5
                if attn_mask is not None: s = s.masked_fill(attn_mask.expand_as(s) < 0.5, -1e20)
                e = (s - s.max(-1, keepdim=True)[0]).exp()
                w = e / e.sum(-1, keepdim=True)
                outs.append(w.bmm(v)); ws.append(w)
            x = x + torch.cat(outs, 2) @ m.wo
            z = m.lin1(m.norm(x))
            x = x + m.lin2(0.5 * z * (1 + torch.erf(z / math.sqrt(2))))
            all_w.append(torch.stack(ws, 1))
        return x, (torch.stack(all_w, 1) if return_attn else None)
"""
CONV = """
class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, nin, nout):
        super().__init__()
        assert img_size % patch_size == 0
        self.num_patches = (img_size // patch_size) ** 2
        self.conv = nn.Conv2d(nin, nout, kernel_size=patch_size, stride=patch_size)
    def forward(self, img):
        x = self.conv(img)
        return x.flatten(2).transpose(1, 2)
"""
UNFOLD = """
class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, nin, nout):
        super().__init__()
        self.p = patch_size
        self.num_patches = (img_size // patch_size) * (img_size // patch_size)
        self.proj = nn.Linear(nin * patch_size * patch_size, nout)
    def forward(self, img):
        cols = F.unfold(img, self.p, stride=self.p)
        return self.proj(cols.permute(0, 2, 1))
"""
RESHAPED = """
class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, nin, nout):
        super().__init__()
        self.g, self.p = img_size // patch_size, patch_size
        self.num_patches = self.g ** 2
        self.to_token = nn.Linear(patch_size ** 2 * nin, nout, bias=False)
    def forward(self, img):
        B, C, _, _ = img.shape
        x = img.reshape(B, C, self.g, self.p, self.g, self.p)
        x = x.permute(0, 2, 4, 3, 5, 1)
        x = x.reshape(B, self.g * self.g, self.p * self.p * C)
        return self.to_token(x)
"""
LOOPED = """
class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, nin, nout):
        super().__init__()
        self.patch_size, self.num_patches = patch_size, (img_size // patch_size) ** 2
        self.weight = nn.Parameter(torch.randn(nin * patch_size * patch_size, nout) * 0.1)
        self.bias = nn.Parameter(torch.zeros(nout))
    def forward(self, img):
        p, tokens = self.patch_size, []
        for r in range(0, img.shape[2], p):
            for c in range(0, img.shape[3], p):
                patch = img[:, :, r:r + p, c:c + p]
                tokens.append(patch.reshape(len(img), -1) @ self.weight + self.bias)
        return torch.stack(tokens, dim=1)
"""
VIT = """
class VisionTransformer(nn.Module):
    def __init__(self, n_channels, nout, img_size, patch_size, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.patch_embed = PatchEmbed(img_size, patch_size, n_channels, dim)
        self.pos_E = nn.Embedding(self.patch_embed.num_patches, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.transformer = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, nout))
    def forward(self, img, return_attn=False):
        embs = self.patch_embed(img)
        B, T, _ = embs.shape
        pos = self.pos_E(torch.arange(T, device=img.device))
        x = embs + pos
        x = torch.cat([self.cls_token.expand(B, -1, -1), x], dim=1)
        x, alphas = self.transformer(x, attn_mask=None, return_attn=return_attn)
        out = self.head(x[:, 0])
        return out, alphas
"""
# A position for the class token too: the sum of two learned vectors is one learned vector.
VIT_ALL = """
class VisionTransformer(nn.Module):
    def __init__(self, n_channels, nout, img_size, patch_size, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.embed = PatchEmbed(img_size, patch_size, n_channels, dim)
        P = (img_size // patch_size) ** 2
        self.positions = nn.Parameter(torch.zeros(1, P + 1, dim))
        self.token = nn.Parameter(torch.zeros(dim))
        self.body = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.ln_out = nn.LayerNorm(dim)
        self.fc_out = nn.Linear(dim, nout, bias=False)
    def forward(self, img, return_attn=False):
        x = self.embed(img)
        x = torch.cat((self.token.repeat(len(x), 1, 1), x), 1) + self.positions
        x, w = self.body(x, return_attn=return_attn)
        return self.fc_out(self.ln_out(x)[:, 0, :]), w
"""
VIT_PARAM = """
class VisionTransformer(nn.Module):
    def __init__(self, n_channels, nout, img_size, patch_size, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.patches = PatchEmbed(img_size, patch_size, n_channels, dim)
        self.P = nn.Parameter(torch.randn(self.patches.num_patches, dim))
        self.special = nn.Embedding(1, dim)
        self.encoder = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.norm, self.classify = nn.LayerNorm(dim), nn.Linear(dim, nout)
    def forward(self, img, return_attn=False):
        B = img.shape[0]
        x = self.special(torch.zeros(B, 1, dtype=torch.long))
        x = torch.hstack([x, self.patches(img) + self.P[None]])
        y, alphas = self.encoder(x, None, return_attn)
        cls, *_ = y.unbind(1)
        return self.classify(self.norm(cls)), alphas
"""
GPT = """
class DialogueGPT(nn.Module):
    def __init__(self, vocab_size, max_N, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.max_N = max_N
        self.tok_E = nn.Embedding(vocab_size, dim)
        self.pos_E = nn.Embedding(max_N, dim)
        self.transformer = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, vocab_size))
    def forward(self, input_ids, return_attn=False):
        B, T = input_ids.shape
        tok = self.tok_E(input_ids)
        pos = self.pos_E(torch.arange(T, device=input_ids.device))
        x = tok + pos
        mask = torch.tril(torch.ones(T, T, device=input_ids.device)).unsqueeze(0)
        x, alphas = self.transformer(x, attn_mask=mask, return_attn=return_attn)
        logits = self.head(x)
        return logits, alphas
    @torch.no_grad()
    def generate(self, input_ids, num_tokens):
        for _ in range(num_tokens):
            logits, _ = self(input_ids)
            next_id = logits[:, -1].argmax(dim=-1, keepdim=True)
            input_ids = torch.cat([input_ids, next_id], dim=1)
        return input_ids
"""
GPT_BUFFER = """
class DialogueGPT(nn.Module):
    def __init__(self, vocab_size, max_N, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.context = max_N
        self.wpe = nn.Parameter(torch.zeros(1, max_N, dim))
        self.wte = nn.Embedding(vocab_size, dim)
        self.h = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.register_buffer('mask', torch.ones(max_N, max_N).tril())
    def forward(self, input_ids, return_attn=False):
        T = input_ids.shape[1]
        x = self.wte(input_ids) + self.wpe[:, :T]
        x, w = self.h(x, self.mask[:T, :T], return_attn)
        return self.lm_head(self.ln_f(x)), w
    def generate(self, input_ids, num_tokens):
        self.eval()
        out = input_ids
        with torch.no_grad():
            while out.shape[1] < input_ids.shape[1] + num_tokens:
                logits = self.forward(out[:, -self.context:])[0]
                probs = torch.softmax(logits[:, -1, :], dim=-1)
                best = torch.topk(probs, 1).indices
                out = torch.hstack((out, best))
        return out
"""
GPT_LOGITS = """
class DialogueGPT(nn.Module):
    def __init__(self, vocab_size, max_N, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab_size, dim), nn.Embedding(max_N, dim)
        self.body = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.final_norm = nn.LayerNorm(dim); self.unembed = nn.Linear(dim, vocab_size)
    def forward(self, input_ids, return_attn=False):
        B, N = input_ids.shape
        i = torch.arange(N)
        causal = (i[None, :] <= i[:, None]).long().expand(B, N, N)
        y, alphas = self.body(self.words(input_ids) + self.places.weight[:N], causal, return_attn=True)
        logits = self.unembed(self.final_norm(y))
        return (logits, alphas) if return_attn else logits
    def generate(self, input_ids, num_tokens):
        B, T = input_ids.shape
        ids = torch.zeros(B, T + num_tokens, dtype=torch.long)
        ids[:, :T] = input_ids
        for t in range(T, T + num_tokens):
            logits = self(ids[:, :t])
            ids[:, t] = torch.argmax(logits[:, t - 1], 1)
        return ids
"""
CALL = """
@torch.no_grad()
def generate(model, input_ids, num_tokens):
    for _ in range(num_tokens):
        logits, _ = model(input_ids)
        new = logits[:, -1, :].argmax(-1)
        input_ids = torch.cat([input_ids, new[:, None]], dim=-1)
    return input_ids
"""
CALL_LISTS = """
import torch
def generate(model, input_ids, num_tokens):
    rows = []
    for row in input_ids:
        ids = row.tolist()
        for _ in range(num_tokens):
            out = model(torch.tensor([ids]))
            logits = out[0] if isinstance(out, tuple) else out
            logits = logits[0, -1]
            best = max(range(len(logits)), key=lambda v: logits[v].item())
            ids.append(best)
        rows.append(ids)
    return torch.tensor(rows)
"""
CALL_DEEP = """
import torch
def generate(model, input_ids, num_tokens):
    if num_tokens == 0:
        return input_ids
    logits = model(input_ids)[0]
    token = torch.log_softmax(logits[:, -1:], dim=2).argmax(2)
    return generate(model, torch.cat((input_ids, token), 1), num_tokens - 1)
"""
HEAT = {
    "by reshapes": """
import torch
def heat_map(alphas, img_size):
    a = alphas.mean(dim=(1, 2))
    a = a[:, 0, 1:]
    g = int(a.shape[-1] ** 0.5)
    a = a.reshape(-1, g, g)
    p = img_size // g
    return a.repeat_interleave(p, dim=1).repeat_interleave(p, dim=2)
""",
    "interpolate": """
import torch, math
import torch.nn.functional as F
def class_token_heat_map(alphas, img_size):
    B, L, H, T, _ = alphas.shape
    row = alphas[:, :, :, 0, 1:].reshape(B, L * H, T - 1).mean(1)
    side = math.isqrt(T - 1)
    grid = row.view(B, 1, side, side)
    return F.interpolate(grid, size=(img_size, img_size), mode='nearest').squeeze(1)
""",
    "numpy and loops": """
import numpy as np
def heat_map(alphas, img_size):
    A = alphas.detach().numpy()
    B, L, H, T, _ = A.shape
    side = round((T - 1) ** 0.5); p = img_size // side
    out = np.zeros((B, img_size, img_size), dtype=np.float32)
    for b in range(B):
        for r in range(img_size):
            for c in range(img_size):
                token = 1 + (r // p) * side + c // p
                out[b, r, c] = sum(A[b, l, h, 0, token] for l in range(L) for h in range(H)) / (L * H)
    return out
""",
    "kron": """
import torch
def heatmap(alphas, img_size):
    out = []
    for a in alphas:
        a = a.flatten(0, 1).mean(0)[0][1:]
        n = int(round(len(a) ** .5))
        out.append(torch.kron(a.view(n, n), torch.ones(img_size // n, img_size // n)))
    return torch.stack(out)
""",
}
BERT = """
import torch
from torch import nn
class BERTGRUSentiment(nn.Module):
    def __init__(self, bert, hidden_dim, output_dim, n_layers, bidirectional, dropout):
        super().__init__()
        self.bert = bert
        embedding_dim = bert.config.to_dict()['hidden_size']
        self.rnn = nn.GRU(embedding_dim, hidden_dim, num_layers=n_layers, bidirectional=bidirectional,
                          batch_first=True, dropout=0 if n_layers < 2 else dropout)
        self.out = nn.Linear(hidden_dim * 2 if bidirectional else hidden_dim, output_dim)
        self.dropout = nn.Dropout(dropout)
    def forward(self, text):
        with torch.no_grad():
            embedded = self.bert(text)[0]
        _, hidden = self.rnn(embedded)
        if self.rnn.bidirectional:
            hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        else:
            hidden = self.dropout(hidden[-1, :, :])
        return self.out(hidden)
"""
BERT_PACKED = """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
class BERTGRUSentiment(nn.Module):
    def __init__(self, bert, hidden_dim, output_dim, n_layers, bidirectional, dropout):
        super().__init__()
        self.encoder = bert
        for p in self.encoder.parameters():
            p.requires_grad = False
        self.gru = nn.GRU(bert.config.hidden_size, hidden_dim, n_layers, batch_first=True,
                          bidirectional=bidirectional, dropout=dropout if n_layers > 1 else 0.0)
        self.drop = nn.Dropout(dropout)
        self.classifier = nn.Linear(hidden_dim * (1 + bidirectional), output_dim)
        self.both = bidirectional
    def forward(self, text, mask=None):
        states = self.encoder(text, attention_mask=mask).last_hidden_state
        if mask is None:
            _, h = self.gru(states)
        else:
            lengths = mask.sum(1).long()
            packed = pack_padded_sequence(states, lengths.cpu(), batch_first=True, enforce_sorted=False)
            _, h = self.gru(packed)
        last = torch.cat([h[-1], h[-2]], dim=-1) if self.both else h[-1]
        return self.classifier(self.drop(last))
"""
BERT_TIME = """
import torch
import torch.nn as nn
class BERTGRUSentiment(nn.Module):
    def __init__(self, bert, hidden_dim, output_dim, n_layers, bidirectional, dropout):
        super().__init__()
        bert.requires_grad_(False)
        self.language_model = bert
        d = bert.config.hidden_size
        self.rnn = nn.GRU(d, hidden_dim, n_layers, bidirectional=bidirectional, dropout=dropout)
        self.bi, self.hid = bidirectional, hidden_dim
        self.fc = nn.Linear(hidden_dim * 2, output_dim) if bidirectional else nn.Linear(hidden_dim, output_dim)
        self.dropout = nn.Dropout(dropout)
    def forward(self, text, attention_mask=None):
        with torch.no_grad():
            x = self.language_model(input_ids=text, attention_mask=attention_mask)[0]
        if attention_mask is None:
            attention_mask = torch.ones_like(text)
        rows = []
        for row, m in zip(x, attention_mask):
            n = int(m.sum())
            outputs, h = self.rnn(row[:n].unsqueeze(1))
            rows.append(torch.cat([outputs[-1, 0, :self.hid], outputs[0, 0, self.hid:]]) if self.bi else outputs[-1, 0])
        return self.fc(self.dropout(torch.stack(rows)))
"""
BERT_CELLS = """
import torch
from torch import nn
class BERTGRUSentiment(nn.Module):
    def __init__(self, bert, hidden_dim, output_dim, n_layers, bidirectional, dropout):
        super().__init__()
        self.bert, self.hidden, self.sides = bert, hidden_dim, 2 if bidirectional else 1
        sizes = [bert.config.hidden_size] + [hidden_dim * self.sides] * (n_layers - 1)
        self.cells = nn.ModuleList([nn.ModuleList([nn.GRUCell(s, hidden_dim) for _ in range(self.sides)]) for s in sizes])
        self.linear = nn.Linear(hidden_dim * self.sides, output_dim)
        self.dropout = nn.Dropout(dropout)
    def scan(self, cell, xs):
        h, out = xs[0].new_zeros(len(xs[0]), self.hidden), []
        for x in xs:
            h = cell(x, h)
            out.append(h)
        return out
    def forward(self, text):
        xs = list(self.bert(text)[0].detach().unbind(1))
        for layer in self.cells:
            ways = [self.scan(layer[0], xs)]
            if self.sides == 2:
                ways.append(self.scan(layer[1], xs[::-1])[::-1])
            last = torch.cat([ways[0][-1]] + [w[0] for w in ways[1:]], -1)
            xs = [self.dropout(torch.cat(both, -1)) for both in zip(*ways)]
        return self.linear(self.dropout(last))
"""

RIGHT_MODULES: dict[str, dict[str, str]] = {
    "patch-embed": {
        "convolution": PRE + CONV,
        "unfold": PRE + UNFOLD,
        "reshape, channels last, no bias": PRE + RESHAPED,
        "loops": PRE + LOOPED,
    },
    "transformer": {
        "lists of heads": PRE + HEADS,
        "fused, einsum, no biases": PRE + FUSED,
        "scaled_dot_product_attention": PRE + SDPA,
        "nn.MultiheadAttention": PRE + TORCH,
        "raw parameters": PRE + RAW,
    },
    "vision-transformer": {
        "as in the lecture": PRE + HEADS + CONV + VIT,
        "positions for all": PRE + FUSED + UNFOLD + VIT_ALL,
        "patches in loops, a bias by another name": PRE + FUSED + LOOPED.replace("self.bias", "self.add") + VIT,
        "sdpa, reshaped patches": PRE + SDPA + RESHAPED + VIT_PARAM,
        "nn.MultiheadAttention": PRE + TORCH + CONV + VIT_ALL,
    },
    "dialogue-gpt": {
        "as in the lecture": PRE + HEADS + GPT,
        "mask in a buffer": PRE + FUSED + GPT_BUFFER,
        "logits alone": PRE + SDPA + GPT_LOGITS,
        "raw parameters": PRE + RAW + GPT_BUFFER,
        "nn.MultiheadAttention": PRE + TORCH + GPT,
    },
    "generate": {
        "a method": PRE + HEADS + GPT,
        "a method with a window": PRE + FUSED + GPT_BUFFER,
        "a method that fills a tensor": PRE + SDPA + GPT_LOGITS,
        "a method that reads blanks": PRE + SDPA + GPT_LOGITS.replace("self(ids[:, :t])", "self(ids)"),  # it is causal
        "a function": PRE + CALL,
        "a function on lists": CALL_LISTS,
        "a function that calls itself": CALL_DEEP,
    },
    "heat-map": HEAT,
    "bert-gru": {
        "hidden states": BERT,
        "packed": BERT_PACKED,
        "one text at a time, time first": BERT_TIME,
        "cells": BERT_CELLS,
    },
}  # fmt: skip
