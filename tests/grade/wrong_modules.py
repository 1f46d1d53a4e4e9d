"""Wrong solutions of the tasks that ask for whole models: edits of right ones of several styles, and whole ones.

Written before the catalogue of mistakes; `|` separates the names that a report may give, and ends those that need no name.
"""

from tests.grade.right_modules import (
    BERT,
    BERT_CELLS,
    BERT_PACKED,
    BERT_TIME,
    CALL,
    CALL_LISTS,
    CONV,
    FUSED,
    GPT,
    GPT_BUFFER,
    GPT_LOGITS,
    HEADS,
    HEAT,
    LOOPED,
    PRE,
    RAW,
    RESHAPED,
    SDPA,
    TORCH,
    UNFOLD,
    VIT,
    VIT_ALL,
    VIT_PARAM,
)

Edit = tuple[str, str, str]

PATCHES: list[tuple[str, list[Edit]]] = [
    (CONV, [
        ("column-order", "x.flatten(2)", "x.transpose(2, 3).flatten(2)"),
        ("channels-not-last", "x.flatten(2).transpose(1, 2)", "x.flatten(2)"),
        ("tokens-reshaped", "x.flatten(2).transpose(1, 2)", "x.reshape(x.shape[0], -1, x.shape[1])"),
        ("overlapping", "stride=patch_size", "stride=patch_size // 2"),
        ("num-patches-side", "(img_size // patch_size) ** 2", "img_size // patch_size"),
        ("num-patches-pixels", "(img_size // patch_size) ** 2", "img_size ** 2 // patch_size"),
        ("activation-added", "x = self.conv(img)", "x = torch.relu(self.conv(img))"),
        ("grid-kept", "x.flatten(2).transpose(1, 2)", "x.permute(0, 2, 3, 1)"),
        ("patches-reversed", "return x.flatten(2).transpose(1, 2)", "return x.flatten(2).transpose(1, 2).flip(1)"),
        ("num-patches-missing", "        self.num_patches = (img_size // patch_size) ** 2\n", ""),
        ("batch-flattened", "x.flatten(2).transpose(1, 2)", "x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])"),
        ("gradient-stopped", "self.conv(img)", "self.conv(img).detach()"),
    ]),
    (UNFOLD, [
        ("unfold-not-turned", "cols.permute(0, 2, 1)", "cols.reshape(cols.shape[0], cols.shape[2], cols.shape[1])"),
        ("image-reshaped", "cols = F.unfold(img, self.p, stride=self.p)\n        return self.proj(cols.permute(0, 2, 1))",
         "return self.proj(img.reshape(len(img), self.num_patches, -1))"),
        ("column-order", "F.unfold(img, self.p, stride=self.p)", "F.unfold(img.transpose(2, 3), self.p, stride=self.p)"),
        ("not-deterministic", "self.proj(cols.permute(0, 2, 1))", "F.dropout(self.proj(cols.permute(0, 2, 1)), 0.1)"),
    ]),
    (RESHAPED, [
        ("column-order", "x.permute(0, 2, 4, 3, 5, 1)", "x.permute(0, 4, 2, 3, 5, 1)"),
        ("axes-not-exchanged|image-reshaped", "        x = x.permute(0, 2, 4, 3, 5, 1)\n", ""),
        ("pixels-strided", "x = img.reshape(B, C, self.g, self.p, self.g, self.p)\n        x = x.permute(0, 2, 4, 3, 5, 1)",
         "x = img.reshape(B, C, self.p, self.g, self.p, self.g)\n        x = x.permute(0, 3, 5, 2, 4, 1)"),
        ("rows-in-place-of-patches", "        x = x.permute(0, 2, 4, 3, 5, 1)\n        x = x.reshape(B, self.g * self.g, self.p * self.p * C)",
         "        x = img.permute(0, 2, 3, 1).reshape(B, self.g * self.g, self.p * self.p * C)"),
        ("patch-normalised", "return self.to_token(x)", "return self.to_token((x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True))"),
    ]),
    (LOOPED, [
        ("column-order", "for r in range(0, img.shape[2], p):\n            for c in range(0, img.shape[3], p):",
         "for c in range(0, img.shape[3], p):\n            for r in range(0, img.shape[2], p):"),
        ("last-column-missing", "range(0, img.shape[3], p)", "range(0, img.shape[3] - p, p)"),
        ("first-channel-only", "img[:, :, r:r + p, c:c + p]", "img[:, :1, r:r + p, c:c + p].expand(-1, img.shape[1], -1, -1)"),
        ("batch-mixed", "patch.reshape(len(img), -1)", "(patch - patch.mean(0)).reshape(len(img), -1)"),
        ("class-token-added", "return torch.stack(tokens, dim=1)", "return torch.stack([torch.zeros_like(tokens[0])] + tokens, dim=1)"),
    ]),
]  # fmt: skip
TRANSFORMERS: list[tuple[str, list[Edit]]] = [
    (HEADS, [
        ("residual-attention-forgotten", "x = attn_out + x", "x = attn_out"),
        ("residual-ffn-forgotten", "x = self.ffn(x) + x", "x = self.ffn(x)"),
        ("same-layer-repeated|layers-share-weights", "nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads) for _ in range(num_layers)])",
         "nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads)] * num_layers)"),
        ("first-layer-repeated", "for layer in self.layers:\n            x, alphas = layer(x, attn_mask)", "for _ in self.layers:\n            x, alphas = self.layers[0](x, attn_mask)"),
        ("layers-not-chained", "for layer in self.layers:\n            x, alphas = layer(x, attn_mask)", "x0 = x\n        for layer in self.layers:\n            x, alphas = layer(x0, attn_mask)"),
        ("mask-dropped|mask-ignored", "x, alphas = layer(x, attn_mask)", "x, alphas = layer(x, None)"),
        ("mask-first-layer-only", "collected.append(alphas)", "collected.append(alphas); attn_mask = None"),
        ("ffn-norm-missing", "nn.LayerNorm(dim), nn.Linear(dim, n_hidden)", "nn.Linear(dim, n_hidden)"),
        ("relu-in-place-of-gelu", "nn.GELU()", "nn.ReLU()"),
        ("activation-missing", " nn.GELU(),", ""),
        ("pre-norm", "        attn_out, alphas = self.attn(x, attn_mask)", "        attn_out, alphas = self.attn(self.ffn.net[0](x), attn_mask)"),
        ("weights-last-layer", "torch.stack(collected, dim=1)", "alphas"),
        ("weights-layers-first", "torch.stack(collected, dim=1)", "torch.stack(collected)"),
        ("weights-heads-before-layers", "torch.stack(collected, dim=1)", "torch.stack(collected, dim=2)"),
        ("weights-concatenated", "torch.stack(collected, dim=1)", "torch.cat(collected, dim=1)"),
        ("weights-missing", "torch.stack(collected, dim=1) if return_attn else None", "None"),
        ("scale-missing", " / math.sqrt(self.n_hidden)", ""),
        ("scale-not-rooted", "math.sqrt(self.n_hidden)", "self.n_hidden"),
        ("softmax-over-queries", "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=1)"),
        ("mask-inverted|mask-inverted-nan|mask-inverted-uniform", "attn_mask == 0, float('-inf')", "attn_mask == 1, -1e9"),
        ("mask-minus-one", "float('-inf')", "-1"),
        ("parallel-branches", "x = attn_out + x\n        x = self.ffn(x) + x", "x = attn_out + x + self.ffn(x)"),
        ("residual-from-input", "x = attn_out + x\n        x = self.ffn(x) + x", "x0 = x\n        x = attn_out + x\n        x = self.ffn(x) + x0"),
        ("residual-of-attention-output", "x = attn_out + x\n        x = self.ffn(x) + x", "x = self.ffn(attn_out + x) + attn_out"),
        ("ffn-before-attention", "attn_out, alphas = self.attn(x, attn_mask)\n        x = attn_out + x\n        x = self.ffn(x) + x",
         "x = self.ffn(x) + x\n        attn_out, alphas = self.attn(x, attn_mask)\n        x = attn_out + x"),
        ("ffn-forgotten", "x = self.ffn(x) + x\n", "pass\n"),
        ("last-layer-skipped", "for layer in self.layers:", "for layer in self.layers[:-1]:"),
        ("layers-reversed", "for layer in self.layers:", "for layer in reversed(self.layers):"),
        ("residual-twice", "x = attn_out + x\n", "x = attn_out + x + x\n"),
        ("output-normed", "return x, (torch", "x = F.layer_norm(x, x.shape[-1:])\n        return x, (torch"),
        ("not-deterministic", "x = attn_out + x\n", "x = F.dropout(attn_out, 0.3) + x\n"),
        ("one-layer-only|last-layer-skipped", "collected.append(alphas)", "collected.append(alphas)\n            return x, (torch.stack(collected, dim=1) if return_attn else None)"),
    ]),
    (FUSED, [
        ("residual-attention-forgotten", "x = x + y", "x = y"),
        ("residual-ffn-forgotten", "x = x + self.downs", "x = self.downs"),
        ("norm-after-ffn", "x = x + self.downs[i](F.gelu(self.ups[i](self.norms[i](x))))", "x = self.norms[i](x + self.downs[i](F.gelu(self.ups[i](x))))"),
        ("norm-residual|residual-of-norm", "x = x + self.downs[i](F.gelu(self.ups[i](self.norms[i](x))))", "x = self.norms[i](x)\n            x = x + self.downs[i](F.gelu(self.ups[i](x)))"),
        ("gelu-twice", "x = x + self.downs[i](F.gelu(self.ups[i](self.norms[i](x))))", "x = x + F.gelu(self.downs[i](F.gelu(self.ups[i](self.norms[i](x)))))"),
        ("tanh-in-place-of-gelu", "F.gelu(", "torch.tanh("),
        ("heads-reshaped", "'bhij,bhjd->bihd'", "'bhij,bhjd->bhid'"),
        ("attention-of-first-layer", "self.attend(i, x, attn_mask)", "self.attend(0, x, attn_mask)"),
        ("mask-after-softmax", "            s = s + (1 - mask.float().reshape(-1, 1, T, T)) * -1e9\n        a = s.softmax(dim=-1)", "            a = s.softmax(dim=-1) * mask.float().reshape(-1, 1, T, T)\n        else:\n            a = s.softmax(dim=-1)"),
        ("values-are-keys", "'bhij,bhjd->bihd', a, v", "'bhij,bhjd->bihd', a, k"),
        ("weights-averaged", "maps.append(a)", "maps.append(a.mean(1))"),
        ("gradient-stopped", "self.attend(i, x, attn_mask)", "self.attend(i, x.detach(), attn_mask)"),
    ]),
    (SDPA, [
        ("mask-inverted|mask-inverted-nan|mask-inverted-uniform", ".bool()\n        weights", " == 0\n        weights"),
        ("residual-ffn-twice", "return x + self.fc2(", "return 2 * x + self.fc2("),
        ("ffn-norm-missing", "self.fc1(self.ln(x))", "self.fc1(x)"),
        ("gelu-missing|activation-missing", "F.gelu(self.fc1(self.ln(x)))", "self.fc1(self.ln(x))"),
        ("mask-added", "attn_mask[:, None]).bool()", "attn_mask[:, None]).float()"),
        ("layers-wrong-count|one-layer-only|last-layer-skipped", "self.n = num_layers", "self.n = num_layers - 1"),
    ]),
    (RAW, [
        ("ffn-on-old-x|parallel-branches", "z = m.lin1(m.norm(x))", "z = m.lin1(m.norm(x - torch.cat(outs, 2) @ m.wo))"),
        ("gelu-not-halved", "0.5 * z * (1 +", "z * (1 +"),
        ("heads-interleaved", "torch.cat(outs, 2) @ m.wo", "torch.stack(outs, 3).flatten(2) @ m.wo"),
        ("heads-averaged", "torch.cat(outs, 2) @ m.wo", "torch.cat([sum(outs) / len(outs)] * len(outs), 2) @ m.wo"),
        ("softmax-over-queries|", "e / e.sum(-1, keepdim=True)", "e / e.sum(1, keepdim=True)"),
        ("scale-of-dim", "q.shape[2] ** 0.5", "x.shape[2] ** 0.5"),
        ("softmax-over-all|", "e / e.sum(-1, keepdim=True)", "e / e.sum((1, 2), keepdim=True)"),
    ]),
    (TORCH, [
        ("mask-inverted|mask-inverted-nan|mask-inverted-uniform", "(mask == 0).expand", "(mask == 1).expand"),
        ("weights-averaged", "average_attn_weights=False", "average_attn_weights=True"),
        ("batch-as-time", "batch_first=True", "batch_first=False"),
        ("post-norm|norm-after-ffn", "return x + self.ffn(x), w", "return self.ffn[0](x + self.ffn[1:](x)), w"),
    ]),
]  # fmt: skip
WHOLE_TRANSFORMERS = [
    ("pre-norm|pre-norm-everywhere", HEADS.replace("self.ffn = FFN(dim, mlp_dim)", "self.ffn = FFN(dim, mlp_dim); self.norm1 = nn.LayerNorm(dim)")
     .replace("self.attn(x, attn_mask)", "self.attn(self.norm1(x), attn_mask)")),
    ("output-normed-by-own", HEADS.replace("        self.layers = nn", "        self.last = nn.LayerNorm(dim)\n        self.layers = nn").replace("return x, (torch", "return self.last(x), (torch")),
    ("post-norm", HEADS.replace("self.ffn = FFN(dim, mlp_dim)", "self.ffn = FFN(dim, mlp_dim).net[1:]; self.norm1 = nn.LayerNorm(dim); self.norm2 = nn.LayerNorm(dim)")
     .replace("x = attn_out + x", "x = self.norm1(attn_out + x)").replace("x = self.ffn(x) + x", "x = self.norm2(self.ffn(x) + x)")),
    ("post-norm", """
class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, num_heads, mlp_dim, dropout=0.0, activation='gelu', batch_first=True)
        self.enc = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
    def forward(self, x, attn_mask=None, return_attn=False):
        m = None if attn_mask is None else (attn_mask if attn_mask.dim() == 3 else attn_mask[None]) == 0
        if m is not None:
            m = m.expand(len(x), -1, -1).repeat_interleave(self.enc.layers[0].self_attn.num_heads, 0)
        return self.enc(x, m), None
"""),
]  # fmt: skip
VITS: list[tuple[str, list[Edit]]] = [
    (HEADS + CONV + VIT, [
        ("class-token-at-end", "torch.cat([self.cls_token.expand(B, -1, -1), x], dim=1)", "torch.cat([x, self.cls_token.expand(B, -1, -1)], dim=1)"),
        ("class-token-at-end-read-last", "torch.cat([self.cls_token.expand(B, -1, -1), x], dim=1)\n        x, alphas = self.transformer(x, attn_mask=None, return_attn=return_attn)\n        out = self.head(x[:, 0])",
         "torch.cat([x, self.cls_token.expand(B, -1, -1)], dim=1)\n        x, alphas = self.transformer(x, attn_mask=None, return_attn=return_attn)\n        out = self.head(x[:, -1])"),
        ("last-token-read", "self.head(x[:, 0])", "self.head(x[:, -1])"),
        ("mean-read", "self.head(x[:, 0])", "self.head(x.mean(1))"),
        ("mean-of-patches-read", "self.head(x[:, 0])", "self.head(x[:, 1:].mean(1))"),
        ("first-patch-read", "self.head(x[:, 0])", "self.head(x[:, 1])"),
        ("all-tokens-read", "self.head(x[:, 0])", "self.head(x)"),
        ("positions-forgotten", "x = embs + pos", "x = embs"),
        ("position-after-transformer|positions-forgotten", "x = embs + pos\n", "x = embs\n", ),
        ("column-order", "x.flatten(2)", "x.transpose(2, 3).flatten(2)"),
        ("tokens-reshaped", "x.flatten(2).transpose(1, 2)", "x.reshape(x.shape[0], -1, x.shape[1])"),
        ("class-token-forgotten", "x = torch.cat([self.cls_token.expand(B, -1, -1), x], dim=1)\n", "\n"),
        ("head-norm-missing", "nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, nout))", "nn.Linear(dim, nout)"),
        ("positions-reversed", "torch.arange(T, device=img.device)", "torch.arange(T - 1, -1, -1, device=img.device)"),
        ("position-same", "torch.arange(T, device=img.device)", "torch.zeros(T, dtype=torch.long, device=img.device)"),
        ("class-token-random|not-deterministic", "self.cls_token.expand(B, -1, -1)", "torch.randn(B, 1, x.shape[2])"),
        ("class-token-zero", "self.cls_token.expand(B, -1, -1)", "torch.zeros(B, 1, x.shape[2])"),
        ("residual-attention-forgotten", "x = attn_out + x", "x = attn_out"),
        ("same-layer-repeated|layers-share-weights", "nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads) for _ in range(num_layers)])",
         "nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads)] * num_layers)"),
        ("softmax-added", "out = self.head(x[:, 0])", "out = self.head(x[:, 0]).softmax(-1)"),
        ("causal-mask", "attn_mask=None, return_attn=return_attn", "attn_mask=torch.ones(x.shape[1], x.shape[1]).tril(), return_attn=return_attn"),
        ("weights-missing", "return out, alphas", "return out, None"),
        ("class-token-not-learned", "nn.Parameter(torch.randn(1, 1, dim))", "torch.ones(1, 1, dim)"),
        ("class-token-added|class-token-added-to-all", "torch.cat([self.cls_token.expand(B, -1, -1), x], dim=1)", "x + self.cls_token"),
        ("class-token-not-learned|gradient-stopped", "self.cls_token.expand(B, -1, -1)", "self.cls_token.detach().expand(B, -1, -1)"),
    ]),
    (FUSED + UNFOLD + VIT_ALL, [
        ("positions-multiplied", " + self.positions", " * self.positions"),
        ("head-norm-missing", "self.ln_out(x)", "(x)"),
        ("residual-ffn-forgotten", "x = x + self.downs", "x = self.downs"),
        ("column-order|image-turned", "F.unfold(img, self.p, stride=self.p)", "F.unfold(img.transpose(2, 3), self.p, stride=self.p)"),
        ("head-twice|activation-added", "self.fc_out(self.ln_out(x)[:, 0, :])", "torch.relu(self.fc_out(self.ln_out(x)[:, 0, :]))"),
        ("position-after-transformer", "        x = torch.cat((self.token.repeat(len(x), 1, 1), x), 1) + self.positions\n        x, w = self.body(x, return_attn=return_attn)",
         "        x = torch.cat((self.token.repeat(len(x), 1, 1), x), 1)\n        x, w = self.body(x, return_attn=return_attn)\n        x = x + self.positions"),
        ("positions-twice", "+ self.positions", "+ self.positions + self.positions"),
    ]),
    (SDPA + RESHAPED + VIT_PARAM, [
        ("image-reshaped|rows-in-place-of-patches", "        x = x.permute(0, 2, 4, 3, 5, 1)\n        x = x.reshape(B, self.g * self.g, self.p * self.p * C)",
         "        x = img.permute(0, 2, 3, 1).reshape(B, self.g * self.g, self.p * self.p * C)"),
        ("head-without-bias", "self.classify(self.norm(cls))", "self.norm(cls) @ self.classify.weight.T"),
        ("input-normed", "self.encoder(x, None, return_attn)", "self.encoder(self.norm(x), None, return_attn)"),
        ("weights-forgotten|weights-missing", "self.encoder(x, None, return_attn)", "self.encoder(x, None)"),
        ("class-token-at-end", "torch.hstack([x, self.patches(img) + self.P[None]])", "torch.hstack([self.patches(img) + self.P[None], x])"),
        ("patches-normed", "self.patches(img) + self.P[None]", "self.norm(self.patches(img)) + self.P[None]"),
    ]),
]  # fmt: skip
GPTS: list[tuple[str, list[Edit]]] = [
    (HEADS + GPT, [
        ("mask-forgotten", "attn_mask=mask", "attn_mask=None"),
        ("mask-training-only|mask-forgotten", "attn_mask=mask", "attn_mask=mask if self.training else None"),
        ("mask-transposed", "torch.tril(", "torch.triu("),
        ("mask-without-self|mask-without-self-nan", "torch.tril(torch.ones(T, T, device=input_ids.device))", "torch.tril(torch.ones(T, T, device=input_ids.device), -1)"),
        ("mask-one-ahead", "torch.tril(torch.ones(T, T, device=input_ids.device))", "torch.tril(torch.ones(T, T, device=input_ids.device), 1)"),
        ("positions-forgotten", "x = tok + pos", "x = tok"),
        ("positions-of-tokens", "self.pos_E(torch.arange(T, device=input_ids.device))", "self.pos_E(input_ids % self.max_N)"),
        ("positions-reversed", "torch.arange(T, device=input_ids.device)", "torch.arange(T, device=input_ids.device).flip(0)"),
        ("positions-from-one", "self.pos_E(torch.arange(T, device=input_ids.device))", "self.pos_E(torch.arange(1, T + 1, device=input_ids.device) % self.max_N)"),
        ("positions-from-end", "self.pos_E(torch.arange(T, device=input_ids.device))", "self.pos_E(torch.arange(self.max_N - T, self.max_N, device=input_ids.device))"),
        ("head-norm-missing", "nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, vocab_size))", "nn.Linear(dim, vocab_size)"),
        ("softmax-added", "logits = self.head(x)", "logits = self.head(x).softmax(dim=-1)"),
        ("log-softmax-added", "logits = self.head(x)", "logits = F.log_softmax(self.head(x), dim=-1)"),
        ("last-position-only", "logits = self.head(x)", "logits = self.head(x[:, -1])"),
        ("head-tied", "        logits = self.head(x)", "        logits = self.head[0](x) @ self.tok_E.weight.T"),
        ("embedding-scaled", "tok = self.tok_E(input_ids)", "tok = self.tok_E(input_ids) * self.tok_E.weight.shape[1] ** 0.5"),
        ("residual-attention-forgotten", "x = attn_out + x", "x = attn_out"),
        ("residual-ffn-forgotten", "x = self.ffn(x) + x", "x = self.ffn(x)"),
        ("same-layer-repeated|layers-share-weights", "nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads) for _ in range(num_layers)])",
         "nn.ModuleList([AttentionResidual(dim, attn_dim, mlp_dim, num_heads)] * num_layers)"),
        ("positions-multiplied", "tok + pos", "tok * pos"),
        ("batch-position|positions-of-batch", "self.pos_E(torch.arange(T, device=input_ids.device))", "self.pos_E(torch.arange(B, device=input_ids.device))[:, None]"),
        ("gelu-missing|activation-missing", " nn.GELU(),", ""),
        ("weights-last-layer", "torch.stack(collected, dim=1)", "alphas"),
        ("shifted-logits", "return logits, alphas", "return logits.roll(1, 1), alphas"),
        ("logits-cut|last-logit-dropped", "return logits, alphas", "return logits[:, :-1], alphas"),
        ("mask-inverted|mask-inverted-nan|mask-inverted-uniform", "attn_mask == 0, float('-inf')", "attn_mask == 1, float('-inf')"),
        ("scale-missing", " / math.sqrt(self.n_hidden)", ""),
        ("logits-transposed", "return logits, alphas", "return logits.transpose(1, 2), alphas"),
        ("head-tied", "        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, vocab_size))", "        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, vocab_size)); self.head[1].weight = self.tok_E.weight"),
    ]),
    (FUSED + GPT_BUFFER, [
        ("mask-forgotten", "self.h(x, self.mask[:T, :T], return_attn)", "self.h(x, None, return_attn)"),
        ("head-norm-missing", "self.lm_head(self.ln_f(x))", "self.lm_head(x)"),
        ("position-after-transformer", "x = self.wte(input_ids) + self.wpe[:, :T]\n        x, w = self.h(x, self.mask[:T, :T], return_attn)", "x = self.wte(input_ids)\n        x, w = self.h(x, self.mask[:T, :T], return_attn)\n        x = x + self.wpe[:, :T]"),
        ("position-first-only|position-same", "self.wpe[:, :T]", "self.wpe[:, :1]"),
        ("positions-from-end", "self.wpe[:, :T]", "self.wpe[:, -T:]"),
        ("mask-transposed", "torch.ones(max_N, max_N).tril()", "torch.ones(max_N, max_N).triu()"),
        ("full-context-only", "self.mask[:T, :T]", "self.mask"),
        ("mask-first-layer-only", "maps.append(a)", "maps.append(a); attn_mask = None"),
        ("input-normed", "self.h(x, self.mask", "self.h(self.ln_f(x), self.mask"),
        ("gradient-stopped", "x = self.wte(input_ids) +", "x = self.wte(input_ids).detach() +"),
    ]),
    (SDPA + GPT_LOGITS, [
        ("mask-transposed", "i[None, :] <= i[:, None]", "i[None, :] >= i[:, None]"),
        ("mask-without-self", "i[None, :] <= i[:, None]", "i[None, :] < i[:, None]"),
        ("mask-window", "(i[None, :] <= i[:, None])", "((i[None, :] <= i[:, None]) & (i[None, :] >= i[:, None] - 1))"),
        ("positions-forgotten", " + self.places.weight[:N]", ""),
        ("ffn-norm-missing", "self.fc1(self.ln(x))", "self.fc1(x)"),
        ("weights-missing", "return (logits, alphas) if return_attn else logits", "return (logits, None) if return_attn else logits"),
        ("head-norm-twice", "self.unembed(self.final_norm(y))", "self.unembed(self.final_norm(self.final_norm(y)))"),
        ("residual-input|tokens-added-to-output", "self.final_norm(y)", "self.final_norm(y + self.words(input_ids))"),
    ]),
]  # fmt: skip
GENERATED: list[tuple[str, list[Edit]]] = [
    (HEADS + GPT, [
        ("prompt-dropped", "        return input_ids\n", "        return input_ids[:, -num_tokens:]\n"),
        ("argmax-over-batch", "argmax(dim=-1, keepdim=True)", "argmax(dim=0, keepdim=True)"),
        ("second-to-last-logit", "logits[:, -1].argmax", "logits[:, -2].argmax"),
        ("first-logit", "logits[:, -1].argmax", "logits[:, 0].argmax"),
        ("one-too-few", "range(num_tokens)", "range(num_tokens - 1)"),
        ("one-too-many", "range(num_tokens)", "range(num_tokens + 1)"),
        ("last-logit-repeated", "        for _ in range(num_tokens):\n            logits, _ = self(input_ids)\n", "        logits, _ = self(input_ids)\n        for _ in range(num_tokens):\n"),
        ("sampled|not-deterministic", "logits[:, -1].argmax(dim=-1, keepdim=True)", "torch.multinomial(logits[:, -1].softmax(-1), 1)"),
        ("context-last-token", "self(input_ids)\n", "self(input_ids[:, -1:])\n"),
        ("argmin", ".argmax(dim=-1, keepdim=True)", ".argmin(dim=-1, keepdim=True)"),
        ("token-in-front", "torch.cat([input_ids, next_id], dim=1)", "torch.cat([next_id, input_ids], dim=1)"),
        ("window-slides", "torch.cat([input_ids, next_id], dim=1)", "torch.cat([input_ids[:, 1:], next_id], dim=1)"),
        ("all-positions-appended", "logits[:, -1].argmax(dim=-1, keepdim=True)", "logits.argmax(dim=-1)"),
        ("first-example-for-all|batch-mixed", "logits[:, -1].argmax(dim=-1, keepdim=True)", "logits[:1, -1].argmax(dim=-1, keepdim=True).expand(len(input_ids), 1)"),
        ("prompt-dropped-last", "        return input_ids\n", "        return next_id\n"),
        ("token-twice", "torch.cat([input_ids, next_id], dim=1)", "torch.cat([input_ids, next_id, next_id], dim=1)"),
        ("softmax-over-time", "logits[:, -1].argmax", "logits.softmax(1)[:, -1].argmax"),
        ("last-token-replaced", "torch.cat([input_ids, next_id], dim=1)", "torch.cat([input_ids[:, :-1], next_id], dim=1)"),
    ]),
    (FUSED + GPT_BUFFER, [
        ("context-last-token", "out[:, -self.context:]", "out[:, -1:]"),
        ("total-length", "input_ids.shape[1] + num_tokens", "num_tokens"),
        ("second-best", "torch.topk(probs, 1).indices", "torch.topk(probs, 2).indices[:, 1:]"),
        ("context-prompt-only|last-logit-repeated", "self.forward(out[:, -self.context:])", "self.forward(input_ids[:, -self.context:])"),
        ("prompt-dropped", "        return out\n", "        return out[:, input_ids.shape[1]:]\n"),
        ("softmax-over-batch", "torch.softmax(logits[:, -1, :], dim=-1)", "torch.softmax(logits[:, -1, :], dim=0)"),
        ("sampled|not-deterministic", "torch.topk(probs, 1).indices", "torch.distributions.Categorical(probs).sample()[:, None]"),
        ("list-returned", "        return out\n", "        return out[0]\n"),
        ("context-too-short|context-last-two", "out[:, -self.context:]", "out[:, -2:]"),
    ]),
    (SDPA + GPT_LOGITS, [
        ("last-of-blanks", "logits = self(ids[:, :t])\n            ids[:, t] = torch.argmax(logits[:, t - 1], 1)", "logits = self(ids)\n            ids[:, t] = torch.argmax(logits[:, -1], 1)"),
        ("second-to-last-logit", "logits[:, t - 1]", "logits[:, t - 2]"),
        ("raises-index|", "logits[:, t - 1]", "logits[:, t]"),
        ("one-too-few|last-not-filled", "range(T, T + num_tokens)", "range(T, T + num_tokens - 1)"),
        ("argmax-over-batch-cut", "torch.argmax(logits[:, t - 1], 1)", "torch.argmax(logits[:, t - 1], 0)[:B]"),
    ]),
    (CALL, [
        ("prompt-dropped", "    return input_ids\n", "    return input_ids[:, -num_tokens:]\n"),
        ("stops-at-special", "        input_ids = torch.cat([input_ids, new[:, None]], dim=-1)\n", "        if (new == 1).any():\n            break\n        input_ids = torch.cat([input_ids, new[:, None]], dim=-1)\n"),
        ("first-logit", "logits[:, -1, :]", "logits[:, 0, :]"),
        ("argmax-over-positions", "logits[:, -1, :].argmax(-1)", "logits[:, :, -1].argmax(-1)"),
        ("argmax-of-everything", "logits[:, -1, :].argmax(-1)", "(logits[:, -1, :].argmax() % logits.shape[2]).expand(len(input_ids))"),
        ("context-last-token", "model(input_ids)", "model(input_ids[:, -1:])"),
        ("last-logit-repeated|last-logit-twice", "    for _ in range(num_tokens):\n        logits, _ = model(input_ids)\n", "    for i in range(num_tokens):\n        if i % 2 == 0: logits, _ = model(input_ids)\n"),
        ("second-to-last-logit|context-without-last", "model(input_ids)", "model(input_ids[:, :-1])"),
        ("specials-forbidden", "logits[:, -1, :].argmax(-1)", "logits[:, -1, 3:].argmax(-1) + 3"),
        ("specials-forbidden-shifted", "logits[:, -1, :].argmax(-1)", "logits[:, -1, 3:].argmax(-1)"),
        ("greedy-on-mean", "logits[:, -1, :].argmax(-1)", "logits.mean(1).argmax(-1)"),
    ]),
    (CALL_LISTS, [
        ("first-example-only", "for row in input_ids:", "for row in input_ids[:1]:"),
        ("prompt-dropped", "rows.append(ids)", "rows.append(ids[-num_tokens:])"),
        ("argmin", "best = max(", "best = min("),
        ("last-logit-repeated|context-prompt-only", "torch.tensor([ids])", "torch.tensor([row.tolist()])"),
        ("repetition-avoided", "range(len(logits))", "[v for v in range(len(logits)) if v not in ids]"),
    ]),
]  # fmt: skip
HEATS: list[tuple[str, list[Edit]]] = [
    (HEAT["by reshapes"], [
        ("class-token-kept", "a[:, 0, 1:]", "a[:, 0, :-1]"),
        ("grid-transposed", "reshape(-1, g, g)", "reshape(-1, g, g).transpose(1, 2)"),
        ("column-read", "a[:, 0, 1:]", "a[:, 1:, 0]"),
        ("last-layer-only", "alphas.mean(dim=(1, 2))", "alphas[:, -1].mean(dim=1)"),
        ("first-layer-only", "alphas.mean(dim=(1, 2))", "alphas[:, 0].mean(dim=1)"),
        ("first-head-only", "alphas.mean(dim=(1, 2))", "alphas.mean(dim=1)[:, 0]"),
        ("summed", "alphas.mean(dim=(1, 2))", "alphas.sum(dim=(1, 2))"),
        ("max-over-heads-of-mean", "alphas.mean(dim=(1, 2))", "alphas.mean(1).max(1).values"),
        ("tiled", "a.repeat_interleave(p, dim=1).repeat_interleave(p, dim=2)", "a.repeat(1, p, p)"),
        ("grid-not-enlarged", "return a.repeat_interleave(p, dim=1).repeat_interleave(p, dim=2)", "return a"),
        ("mean-of-rows", "a[:, 0, 1:]", "a.mean(1)[:, 1:]"),
        ("last-row", "a[:, 0, 1:]", "a[:, -1, 1:]"),
        ("patch-row", "a[:, 0, 1:]", "a[:, 1, 1:]"),
        ("last-row-class-at-end", "a[:, 0, 1:]", "a[:, -1, :-1]"),
        ("grid-of-patch-size|raises|", "int(a.shape[-1] ** 0.5)", "a.shape[-1] // 2"),
        ("rows-enlarged-only", ".repeat_interleave(p, dim=2)", ""),
        ("grid-upside-down", "reshape(-1, g, g)", "reshape(-1, g, g).flip(1)"),
        ("first-image-only", "return a.rep", "return a[:1].rep"),
        ("first-layer-first-head", "alphas.mean(dim=(1, 2))", "alphas[:, 0, 0]"),
        ("grid-reversed", "a[:, 0, 1:]", "a[:, 0, 1:].flip(1)"),
    ]),
    (HEAT["interpolate"], [
        ("class-token-kept", "alphas[:, :, :, 0, 1:]", "alphas[:, :, :, 0, :-1]"),
        ("grid-transposed", "grid = row.view(B, 1, side, side)", "grid = row.view(B, 1, side, side).mT"),
        ("column-read", "alphas[:, :, :, 0, 1:]", "alphas[:, :, :, 1:, 0]"),
        ("last-layer-only", "alphas[:, :, :, 0, 1:].reshape(B, L * H, T - 1)", "alphas[:, -1:, :, 0, 1:].reshape(B, H, T - 1)"),
        ("channel-kept", ".squeeze(1)", ""),
        ("max-over-heads-and-layers|max-over-heads", ".mean(1)", ".amax(1)"),
        ("batch-averaged-for-all", "grid = row", "grid = row.mean(0, keepdim=True).expand(B, -1)"),
    ]),
    (HEAT["numpy and loops"], [
        ("grid-transposed", "(r // p) * side + c // p", "(c // p) * side + r // p"),
        ("class-token-kept", "1 + (r // p)", "(r // p)"),
        ("tiled", "1 + (r // p) * side + c // p", "1 + (r % side) * side + c % side"),
        ("summed", " / (L * H)", ""),
        ("mean-over-heads-only", " / (L * H)", " / H"),
        ("column-read", "A[b, l, h, 0, token]", "A[b, l, h, token, 0]"),
        ("stride-of-patch", "(r // p) * side", "(r // p) * p"),
    ]),
    (HEAT["kron"], [
        ("tiled", "torch.kron(a.view(n, n), torch.ones(img_size // n, img_size // n))", "torch.kron(torch.ones(img_size // n, img_size // n), a.view(n, n))"),
        ("class-token-kept", "[0][1:]", "[0][:-1]"),
        ("last-row", "[0][1:]", "[-1][1:]"),
        ("rollout", "a = a.flatten(0, 1).mean(0)[0][1:]", "r = torch.eye(a.shape[-1])\n        for l in a.mean(1):\n            m = (l + torch.eye(len(l))) / 2\n            r = m / m.sum(-1, keepdim=True) @ r\n        a = r[0][1:]"),
    ]),
]  # fmt: skip
BERTS: list[tuple[str, list[Edit]]] = [
    (BERT, [
        ("one-direction|", "torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)", "hidden[-1, :, :]"),
        ("last-state-twice|backward-twice", "hidden[-2, :, :], hidden[-1, :, :]", "hidden[-1, :, :], hidden[-1, :, :]"),
        ("first-layer-states", "hidden[-2, :, :], hidden[-1, :, :]", "hidden[0, :, :], hidden[1, :, :]"),
        ("layers-mixed", "hidden[-2, :, :], hidden[-1, :, :]", "hidden[0, :, :], hidden[-1, :, :]"),
        ("encoder-not-frozen", "        with torch.no_grad():\n            embedded = self.bert(text)[0]", "        embedded = self.bert(text)[0]"),
        ("last-output", "hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))", "hidden = self.dropout(_[:, -1])"),
        ("first-output", "hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))", "hidden = self.dropout(_[:, 0])"),
        ("mean-output", "hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))", "hidden = self.dropout(_.mean(1))"),
        ("max-output", "hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))", "hidden = self.dropout(_.max(1)[0])"),
        ("time-as-batch", "                          batch_first=True, dropout", "                          dropout"),
        ("sigmoid-added", "return self.out(hidden)", "return torch.sigmoid(self.out(hidden))"),
        ("softmax-added", "return self.out(hidden)", "return self.out(hidden).softmax(-1)"),
        ("relu-added", "return self.out(hidden)", "return self.out(torch.relu(hidden))"),
        ("not-deterministic", "self.dropout = nn.Dropout(dropout)", "self.dropout = lambda t: nn.functional.dropout(t, 0.5)"),
        ("pooled-output", "self.bert(text)[0]", "self.bert(text)[1].unsqueeze(1)"),
        ("class-token-only", "self.bert(text)[0]", "self.bert(text)[0][:, :1]"),
        ("one-layer-only", "num_layers=n_layers,", "num_layers=1,"),
        ("one-direction|not-bidirectional|", "bidirectional=bidirectional,\n", "bidirectional=False,\n"),
        ("gru-skipped", "        _, hidden = self.rnn(embedded)\n", "        _, hidden = self.rnn(embedded * 0)\n"),
        ("hidden-reshaped", "torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)", "hidden[-2:].reshape(len(text), -1)"),
        ("rnn-in-place-of-gru", "nn.GRU(", "nn.RNN("),
        ("squeezed", "return self.out(hidden)", "return self.out(hidden)[:, 0]"),
        ("directions-added-twice", "torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)", "torch.cat((hidden[-2, :, :] + hidden[-1, :, :],) * 2, dim=1)"),
    ]),
    (BERT_PACKED, [
        ("padding-read", "        if mask is None:\n", "        if True:\n"),
        ("encoder-sees-padding", "attention_mask=mask", "attention_mask=None"),
        ("forward-twice", "torch.cat([h[-1], h[-2]], dim=-1)", "torch.cat([h[-2], h[-2]], dim=-1)"),
        ("encoder-not-frozen", "p.requires_grad = False", "p.requires_grad = True"),
        ("first-layer-states", "[h[-1], h[-2]]", "[h[1], h[0]]"),
        ("lengths-one-short", "mask.sum(1).long()", "mask.sum(1).long() - 1"),
        ("lengths-inverted", "mask.sum(1)", "(1 - mask).sum(1).clamp(min=1)"),
        ("encoder-part-trained|encoder-not-frozen", "for p in self.encoder.parameters():", "for p in list(self.encoder.parameters())[:1]:"),
        ("gru-frozen|gradient-stopped", "last = torch.cat", "h = h.detach()\n        last = torch.cat"),
    ]),
    (BERT_TIME, [
        ("last-output", "torch.cat([outputs[-1, 0, :self.hid], outputs[0, 0, self.hid:]])", "outputs[-1, 0]"),
        ("first-output", "torch.cat([outputs[-1, 0, :self.hid], outputs[0, 0, self.hid:]])", "outputs[0, 0]"),
        ("padding-read", "n = int(m.sum())", "n = len(row)"),
        ("mask-inverted", "attention_mask=attention_mask)[0]", "attention_mask=None if attention_mask is None else 1 - attention_mask)[0]"),
        ("wrong-ends", "torch.cat([outputs[-1, 0, :self.hid], outputs[0, 0, self.hid:]])", "torch.cat([outputs[0, 0, :self.hid], outputs[-1, 0, self.hid:]])"),
    ]),
    (BERT_CELLS, [
        ("backward-not-turned-ends", "self.scan(layer[1], xs[::-1])[::-1]", "self.scan(layer[1], xs[::-1])"),
        ("not-read-backwards-first", "self.scan(layer[1], xs[::-1])[::-1]", "self.scan(layer[1], xs)"),
        ("encoder-not-frozen", ".detach()", ""),
        ("state-forgotten", "h = cell(x, h)", "h = cell(x, h * 0)"),
        ("last-output", "[w[0] for w in ways[1:]]", "[w[-1] for w in ways[1:]]"),
    ]),
]  # fmt: skip
GROUPS: list[tuple[str, list[tuple[str, list[Edit]]]]] = [
    ("patch-embed", PATCHES), ("transformer", TRANSFORMERS), ("vision-transformer", VITS), ("dialogue-gpt", GPTS),
    ("generate", GENERATED), ("heat-map", HEATS), ("bert-gru", BERTS),
]  # fmt: skip


def wrong_modules() -> list[tuple[str, str, str]]:
    """Task, names and source of every wrong solution."""
    found = [("transformer", names, PRE + source) for names, source in WHOLE_TRANSFORMERS]
    for task, bases in GROUPS:
        for base, edits in bases:
            for names, there, put in edits:
                assert there in base, (task, names, there)
                source = base.replace(there, put)
                if (
                    names.startswith("position-after-transformer")
                    and "class-token" not in there
                    and put == "x = embs\n"
                ):
                    source = source.replace(
                        "        out = self.head(x[:, 0])",
                        "        x = torch.cat([x[:, :1], x[:, 1:] + pos], 1)\n        out = self.head(x[:, 0])",
                    )
                found.append((task, names, PRE + source))
    return found


def some_modules() -> list[tuple[str, str, str]]:
    """Every so-manyth of them: the suite has no time for all, which `python -m tests.hunt grading` tries."""
    return wrong_modules()[::9]
