"""Wrong solutions: an edit of a right one, and the names that a report may give it."""

from tests.grade import wrong_dialogue, wrong_functions, wrong_later, wrong_layers
from tests.grade.right import RIGHT
from tests.grade.wrong_modules import some_modules

WHOLE = (wrong_functions.WRONG, wrong_layers.WRONG, wrong_dialogue.WRONG, wrong_later.WRONG)

Edit = tuple[str, str, str]  # names with | between them, what stands there, what is written in its place

HEAD_EDITS: list[Edit] = [
    ("scale-missing", " / math.sqrt(self.n)", ""),
    ("scale-not-rooted", "math.sqrt(self.n)", "self.n"),
    ("scale-multiplied", "/ math.sqrt(self.n)", "* math.sqrt(self.n)"),
    ("scale-of-dim", "math.sqrt(self.n)", "math.sqrt(x.shape[-1])"),
    ("scale-of-length", "math.sqrt(self.n)", "math.sqrt(x.shape[1])"),
    ("mask-minus-one", "float('-inf')", "-1"),
    ("mask-zero", "float('-inf')", "0"),
    ("mask-not-low-enough", "float('-inf')", "-10"),
    ("mask-inverted-nan", "attn_mask == 0", "attn_mask == 1"),
    ("mask-ignored", "if attn_mask is not None", "if False"),
    ("mask-zero", "s = s.masked_fill(attn_mask == 0, float('-inf'))", "s = s * attn_mask"),
    ("mask-added", "s = s.masked_fill(attn_mask == 0, float('-inf'))", "s = s + attn_mask"),
    ("mask-transposed", "attn_mask == 0", "attn_mask.mT == 0"),
    ("softmax-over-queries", "dim=-1", "dim=1"),
    ("softmax-over-batch", "dim=-1", "dim=0"),
    ("softmax-missing", "F.softmax(s, dim=-1)", "s"),
    ("softmax-log", "F.softmax(", "F.log_softmax("),
    ("softmax-sigmoid", "F.softmax(s, dim=-1)", "torch.sigmoid(s)"),
    ("keys-are-queries", "self.k(x)", "self.q(x)"),
    ("values-are-keys", "self.v(x)", "self.k(x)"),
    ("weights-transposed", "a @ self.v(x)", "a.mT @ self.v(x)"),
    ("gradient-stopped", "a @ self.v(x)", "a.detach() @ self.v(x)"),
    ("not-deterministic", "a @ self.v(x)", "F.dropout(a, 0.5) @ self.v(x)"),
    ("weights-missing|", "return a @ self.v(x), a", "return a @ self.v(x)"),
]  # fmt: skip
AFTER = ("mask-after-softmax", """        if attn_mask is not None:
            s = s.masked_fill(attn_mask == 0, float('-inf'))
        a = F.softmax(s, dim=-1)
""", """        a = F.softmax(s, dim=-1)
        if attn_mask is not None:
            a = a * attn_mask
""")  # fmt: skip
MANY_EDITS: list[Edit] = [
    ("scale-missing", " / self.h ** .5", ""),
    ("scale-not-rooted", "self.h ** .5", "self.h"),
    ("scale-of-dim", "self.h ** .5", "x.shape[-1] ** .5"),
    ("scale-of-all-heads", "self.h ** .5", "(self.h * self.H) ** .5"),
    ("mask-minus-one", "-1e9", "-1"),
    ("mask-inverted", "== 0, -1e9", "== 1, -1e9"),
    ("mask-ignored", "if attn_mask is not None", "if False"),
    ("softmax-over-queries", "s.softmax(-1)", "s.softmax(2)"),
    ("softmax-over-heads", "s.softmax(-1)", "s.softmax(1)"),
    ("softmax-over-batch", "s.softmax(-1)", "s.softmax(0)"),
    ("heads-reshaped", "(a @ v).transpose(1, 2).reshape", "(a @ v).reshape"),
    ("heads-split-by-reshape", "view(B, T, self.H, self.h).transpose(1, 2)", "view(B, self.H, T, self.h)"),
    ("heads-interleaved", "(a @ v).transpose(1, 2).reshape", "(a @ v).permute(0, 2, 3, 1).reshape"),
    ("heads-summed", "(a @ v).transpose(1, 2).reshape(B, T, -1)", "(a @ v).sum(1).repeat(1, 1, self.H)"),
    ("keys-are-queries", "(self.q, self.k, self.v)", "(self.q, self.q, self.v)"),
    ("values-are-keys", "(self.q, self.k, self.v)", "(self.q, self.k, self.k)"),
    ("output-map-missing", "self.o((a @ v).transpose(1, 2).reshape(B, T, -1))", "(a @ v).transpose(1, 2).reshape(B, T, -1)"),
    ("input-added", "return self.o(", "return x + self.o("),
]  # fmt: skip
LIST_EDITS: list[Edit] = [
    ("heads-share-weights", "[AttentionHead(dim, n_hidden) for _ in range(num_heads)]", "[AttentionHead(dim, n_hidden)] * num_heads"),
    ("one-head-for-all", "for h in self.heads]", "for h in [self.heads[0]] * len(self.heads)]"),
    ("heads-summed", "self.out(torch.cat([o for o, _ in r], -1))", "self.out(sum(o for o, _ in r).repeat(1, 1, len(r)))"),
]  # fmt: skip
MASK_EDITS: list[Edit] = [
    ("mask-transposed", "[:, None] // w == i // w) & (i[:, None] >= i)", "[:, None] // w == i // w) & (i[:, None] <= i)"),
    ("mask-transposed", "torch.ones(T, T).tril().bool()", "torch.ones(T, T).triu().bool()"),
    ("mask-inverted", "torch.ones(T, T).tril().bool()", "~torch.ones(T, T).tril().bool()"),
    ("self-left-out", "torch.ones(T, T).tril().bool()", "torch.ones(T, T).tril(-1).bool()"),
    ("mask-full", "torch.ones(T, T).tril().bool()", "torch.ones(T, T).bool()"),
    ("stride-one-long", "triu(-t)", "triu(-t - 1)"),
    ("stride-one-short", "triu(-t)", "triu(-t + 1)"),
    ("stride-not-causal", "torch.ones(T, T).tril() * torch.ones(T, T).triu(-t)", "torch.ones(T, T).triu(-t)"),
    ("stride-both-sides", "torch.ones(T, T).tril() * torch.ones(T, T).triu(-t)", "torch.ones(T, T).tril(t) * torch.ones(T, T).triu(-t)"),
    ("window-not-causal", " & (i[:, None] >= i)", ""),
    ("window-sliding", "(i[:, None] // w == i // w)", "(i[:, None] - i < w)"),
    ("window-one-long", "// w == i // w", "// (w + 1) == i // (w + 1)"),
]  # fmt: skip
COUNT_EDITS: list[Edit] = [
    ("count-square", "n * (n + 1) / 2", "n ** 2"),
    ("count-without-self", "n * (n + 1) / 2", "n * (n - 1) / 2"),
    ("count-half-square", "n * (n + 1) / 2", "n * n / 2"),
    ("border-large-n-only", "    t = min(t, n - 1)\n", ""),
    ("border-ignored", "(2 * n - t) * (t + 1) // 2", "n * (t + 1)"),
    ("rest-dropped", " + (n % w) * (n % w + 1) // 2", ""),
    ("window-all-w", "n // w * w * (w + 1) // 2 + (n % w) * (n % w + 1) // 2", "n * w"),
    ("rest-formula", "n // w * w * (w + 1) // 2 + (n % w) * (n % w + 1) // 2", "n * (w + 1) / 2"),
]  # fmt: skip
SCALAR_EDITS: list[Edit] = [
    ("weights-swapped", "w_x * x[t] + w_h * h[t]", "w_h * x[t] + w_x * h[t]"),
    ("minus-in-place-of-plus", "+ w_h * h[t]", "- w_h * h[t]"),
    ("state-too-early", "return h[1:]", "return h[:-1]"),
    ("h0-included", "return h[1:]", "return h"),
    ("last-state-only", "return h[1:]", "return h[-1]"),
]  # fmt: skip
VECTOR_EDITS: list[Edit] = [
    ("relu-in-place-of-tanh", "torch.tanh(", "torch.relu("),
    ("sigmoid-in-place-of-tanh", "torch.tanh(", "torch.sigmoid("),
    ("no-activation", "torch.tanh(", "("),
    ("bias-forgotten", " + b)", ")"),
    ("state-outside", "torch.tanh(W_x @ x[n, t] + W_h @ h + b)", "torch.tanh(W_x @ x[n, t] + b) + W_h @ h"),
    ("w-h-transposed", "W_h @ h", "W_h.T @ h"),
    ("state-unweighted", "W_h @ h", "h"),
    ("state-forgotten", "W_h @ h", "0"),
    ("last-state-only", "return out", "return out[:, -1]"),
    ("time-first", "return out", "return out.transpose(0, 1)"),
    ("read-backwards", "for t in range(x.shape[1])", "for t in reversed(range(x.shape[1]))"),
]  # fmt: skip
GRID_EDITS: list[Edit] = [
    ("neighbours-swapped", "h[:, i + 1, j] @ W_left.T + h[:, i, j + 1] @ W_top.T", "h[:, i + 1, j] @ W_top.T + h[:, i, j + 1] @ W_left.T"),
    ("top-forgotten", " + h[:, i, j + 1] @ W_top.T", ""),
    ("left-forgotten", " + h[:, i + 1, j] @ W_left.T", ""),
    ("no-activation", "torch.tanh(", "("),
    ("relu-in-place-of-tanh", "torch.tanh(", "torch.relu("),
    ("weights-transposed", "@ W_left.T + h[:, i, j + 1] @ W_top.T", "@ W_left + h[:, i, j + 1] @ W_top"),
]  # fmt: skip
EDITED: list[tuple[str, str, list[Edit]]] = [
    ("attention-head", "plain", [*HEAD_EDITS, AFTER]),
    ("multi-headed-attention", "batched heads", MANY_EDITS),
    ("multi-headed-attention", "a list of heads", LIST_EDITS),
    ("masks", "tril and bool", MASK_EDITS),
    ("counting", "formulas", COUNT_EDITS),
    ("scalar-rnn", "a tensor", SCALAR_EDITS),
    ("vector-rnn", "one example after another", VECTOR_EDITS),
    ("grid-rnn", "padded", GRID_EDITS),
]


def wrong() -> list[tuple[str, str, str]]:
    """Task, names and source of every wrong solution."""
    found = []
    for task, manner, edits in EDITED:
        for names, there, put in edits:
            source = RIGHT[task][manner]
            assert there in source, (task, names, there)
            found.append((task, names, source.replace(there, put)))
    found += [(task, *one) for set_ in WHOLE for task, solutions in set_.items() for one in solutions]
    return [*found, *some_modules()]
