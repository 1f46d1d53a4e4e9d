"""A second set of wrong solutions, written when the catalogue stood and before it was looked at again."""

from tests.grade.right import RIGHT as FIRST
from tests.grade.right_functions import RIGHT
from tests.grade.wrong_dialogue import DATASET, LOSS_HEAD, TOKENIZER, edited

WAVES = RIGHT["sinusoidal-positions"]["exp of logs, slices"]
LISTS = RIGHT["sinusoidal-positions"]["loops and lists"]
SUMS = RIGHT["linear-attention"]["einsum and cumsum"]
CARRIED = RIGHT["linear-attention"]["a state carried along"]
POOL = RIGHT["pooled-attention"]["sum first"]
POOL_ONE = RIGHT["pooled-attention"]["one matrix, pooled inputs"]
ENTRIES = RIGHT["conv-matrix"]["entry by entry, lists"]
COLUMNS = RIGHT["conv-matrix"]["columns from torch's convolution"]
PLACES = RIGHT["locally-connected"]["unfold and einsum"]
LOOPS = RIGHT["locally-connected"]["loops"]
LINEARS = RIGHT["locally-connected"]["a Linear for every place"]
IGNORE = RIGHT["dialogue-loss"]["ignore_index"]
HOT = RIGHT["dialogue-loss"]["one-hot"]
ADD = RIGHT["tokenizer"]["lists and dicts, pad_sequence"]
EAGER = RIGHT["dialogue-dataset"]["eager, its own padding"]

WRONG: dict[str, list[tuple[str, str]]] = {
    "scalar-rnn": [
        ("state-unweighted", "def scalar_rnn(x, w_x, w_h): return [w_x * sum(x[:t + 1]) for t in range(len(x))]"),
    ],
    "grid-rnn": [
        ("diagonal-in-place-of-top", edited(FIRST["grid-rnn"]["padded"], ("h[:, i, j + 1] @ W_top.T", "h[:, i, j] @ W_top.T"))),
    ],
    "sinusoidal-positions": [
        ("one-frequency", edited(LISTS, ("((c - c % 2) / d)", "((c - c % 2) // d)"))),
        ("cosine-one-wave-on", edited(LISTS, ("((c - c % 2) / d)", "((c + c % 2) / d)"))),
        ("halves-side-by-side|sin-cos-swapped", edited(WAVES, ("pe[:, 0::2] =", "pe[:, dim // 2:] ="), ("pe[:, 1::2] =", "pe[:, :dim // 2] ="))),
        ("positions-reversed", edited(WAVES, ("torch.arange(T)", "torch.arange(T - 1, -1, -1)"))),
        ("base-e", edited(WAVES, ("math.log(10000.0)", "1.0"))),
    ],
    "linear-attention": [
        ("feature-of-values", edited(SUMS, ("    if causal:", "    value = F.elu(value) + 1\n    if causal:"))),
        ("output-scaled", edited(SUMS, ("q, k = F.elu(query) + 1,", "value = value / query.shape[-1] ** 0.5\n    q, k = F.elu(query) + 1,"))),
        ("normaliser-of-queries", edited(SUMS, ("(q * k.cumsum(2)).sum(-1, keepdim=True)", "q.sum(-1, keepdim=True)"), ("(q @ k.sum(2, keepdim=True).mT)", "q.sum(-1, keepdim=True)"))),
        ("state-forgotten", edited(CARRIED, ("            S += phi(K[:, :, n]).unsqueeze(-1) * V[:, :, n].unsqueeze(-2); z += phi(K[:, :, n])\n        q", "            S = phi(K[:, :, n]).unsqueeze(-1) * V[:, :, n].unsqueeze(-2); z = phi(K[:, :, n])\n        q"))),
        ("sum-over-width", edited(SUMS, (".cumsum(2)\n", ".cumsum(-1)\n"), ("k.cumsum(2)", "k.cumsum(-1)"))),
        ("normaliser-one-more", edited(SUMS, ("(q * k.cumsum(2)).sum(-1, keepdim=True)", "(1 + (q * k.cumsum(2)).sum(-1, keepdim=True))"), ("(q @ k.sum(2, keepdim=True).mT)", "(1 + q @ k.sum(2, keepdim=True).mT)"))),
    ],
    "pooled-attention": [
        ("scale-of-batch", edited(POOL, ("T = x.shape[1]", "T = x.shape[0]"), ("expand(-1, T, -1)", "expand(-1, x.shape[1], -1)"))),
        ("pooled-sum", edited(POOL, (".expand(-1, T, -1)", ".expand(-1, T, -1) * T"))),
        ("keys-not-summed", edited(POOL, ("x.sum(1) @ W_k.T", "x[:, 0] @ W_k.T"))),
        ("softmax-over-width", edited(POOL_ONE, ("pooled = (w[..., None] * x).sum(1) / w.sum(1, keepdim=True)", "pooled = (s[..., None] * x).softmax(-1).sum(1)"))),
        ("residual-added", edited(POOL_ONE, ("torch.stack([pooled @ W_v.T] * T, dim=1)", "x @ W_v.T + torch.stack([pooled @ W_v.T] * T, dim=1)"))),
    ],
    "conv-matrix": [
        ("windows-rounded-down", edited(ENTRIES, ("(n + 2 * padding - len(K)) // stride + 1", "(n + 2 * padding - len(K) + 1) // stride"), ("R + padding - kh + 1, stride", "R + padding - kh + 1 - stride + 1, stride"), ("C + padding - kw + 1, stride", "C + padding - kw + 1 - stride + 1, stride"))),
        ("ones-not-kernel", edited(COLUMNS, ("conv_matrix(kernel, n, stride=1, padding=0):", "conv_matrix(kernel, n, stride=1, padding=0):\n    kernel = torch.ones_like(kernel)"))),
        ("padding-full", edited(COLUMNS, ("padding=0):", "padding=0):\n    padding = padding + len(kernel) - 1"))),
        ("stride-ignored", edited(COLUMNS, ("kernel[None, None], stride=stride, padding=padding).flatten", "kernel[None, None], padding=padding).flatten"))),
        ("kernel-flipped", edited(ENTRIES, ("K = kernel.tolist()", "K = kernel.flip(tuple(range(kernel.dim()))).tolist()"))),
    ],
    "locally-connected": [
        ("channels-last", edited(PLACES, ("torch.einsum('bchwij,hwocij->bohw', x, self.weight) + self.bias", "(torch.einsum('bchwij,hwocij->bohw', x, self.weight) + self.bias).permute(0, 2, 3, 1)"))),
        ("places-flat", edited(LINEARS, (".unflatten(-1, (self.h, self.w))", ""))),
        ("weights-shared", edited(LINEARS, ("[nn.Linear(cin * kernel ** 2, cout) for _ in range(self.h * self.w)]", "[nn.Linear(cin * kernel ** 2, cout)] * (self.h * self.w)"))),
        ("weights-shared-along-columns", edited(PLACES, ("torch.randn(self.h, self.w,", "torch.randn(1, self.w,"), ("self.weight)", "self.weight.expand(self.h, -1, -1, -1, -1, -1))"))),
        ("padding-one-side", edited(PLACES, ("(self.p,) * 4", "(self.p, 0, self.p, 0)"), ("(n + 2 * padding - kernel)", "(n + padding - kernel)"))),
        ("dense", edited(LOOPS, ("return torch.stack(rows, 2)", "y = torch.stack(rows, 2)\n        return y + x.mean((1, 2, 3))[:, None, None, None]"))),
        ("gradient-stopped", edited(PLACES, ("x, self.weight)", "x, self.weight.detach())"))),
    ],
    "dialogue-loss": [
        ("targets-zeroed", LOSS_HEAD + """
        targets = (input_ids * inp_mask)[:, 1:]
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())
"""),
        ("binary", edited(HOT, ("p = torch.log_softmax(logits, -1)[:, :-1]", "p = F.logsigmoid(logits)[:, :-1]"))),
        ("label-smoothing", edited(IGNORE, ("targets.reshape(-1))", "targets.reshape(-1), label_smoothing=0.1)"))),
        ("last-target-only", edited(HOT, ("real = inp_mask[:, 1:].bool()", "real = inp_mask[:, 1:].bool().clone()\n        real[:, :-1] = False"))),
        ("first-example-only", edited(IGNORE, ("        targets", "        logits, input_ids, inp_mask = logits[:1], input_ids[:1], inp_mask[:1]\n        targets"))),
        ("mean-over-vocabulary", edited(HOT, ("-(p * hot).sum(-1)[real].mean()", "-(p * hot)[real].mean()"))),
        ("axes-mixed", edited(RIGHT["dialogue-loss"]["no reduction, a weighted mean"], (".permute(0, 2, 1)", ".reshape(B, V, T - 1)"))),
    ],
    "tokenizer": [
        ("not-sorted-at-all", edited(TOKENIZER, ("sorted(set(word_tokenize(raw_text)))", "list(set(word_tokenize(raw_text)))"))),
        ("ids-with-batch-axis", edited(ADD, ("torch.LongTensor(ids)", "torch.LongTensor([ids])"))),
        ("lowercased-in-encode", edited(TOKENIZER, ("word_tokenize(text)", "word_tokenize(text.lower())"))),
        ("fourth-special", edited(ADD, ("'<UNK>']", "'<UNK>', '<END>']"))),
        ("padded-to-fixed", edited(TOKENIZER, ("T = max(len(e) for e in examples)", "T = 32"))),
        ("unk-second", edited(TOKENIZER, ("'<PAD>', '<UNK>'", "'<UNK>', '<PAD>'"), ("self.pad, self.unk", "self.unk, self.pad"))),
        ("specials-bare", edited(TOKENIZER, ("['<START>', '<PAD>', '<UNK>']", "['START', 'PAD', 'UNK']"))),
    ],
    "dialogue-dataset": [
        ("length-of-context", edited(DATASET, ("return len(self.lines)", "return self.max_N"))),
        ("inputs-and-targets", edited(DATASET, ("return self.tokenizer.encode(self.lines[i])[:self.max_N]", "ids = self.tokenizer.encode(self.lines[i])[:self.max_N]\n        return ids[:-1], ids[1:]"))),
        ("text-not-ids", edited(DATASET, ("self.tokenizer.encode(self.lines[i])[:self.max_N]", "self.lines[i]"))),
        ("padded-to-shortest", edited(EAGER, ("max(x.numel()", "min(x.numel()"), ("ids[b, :len(x)] = x", "ids[b] = x[:T]"))),
        ("mask-with-axis", edited(DATASET, ("(ids != self.tokenizer.pad).long()", "(ids != self.tokenizer.pad).long()[:, None, :]"))),
        ("start-doubled-in-batch", edited(DATASET, ("self.tokenizer.pad_examples(examples)", "self.tokenizer.pad_examples([[0, *e.tolist()] for e in examples])"))),
        ("mask-of-targets", edited(EAGER, ("mask[b, :len(x)] = 1", "mask[b, :len(x) - 1] = 1"))),
        ("tuple-not-dict", edited(DATASET, ("return {'input_ids': ids, 'input_mask': mask}", "return ids, mask"))),
    ],
}  # fmt: skip
