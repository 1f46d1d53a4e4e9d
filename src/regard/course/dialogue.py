"""The dialogue model: a causal transformer that says which token comes next."""

import torch
from torch import Tensor, nn

from regard.course.attention import Affine
from regard.course.transformer import Transformer
from regard.errors import check_int, check_shape, check_sizes
from regard.pattern import Causal


class DialogueGPT(nn.Module):
    """At every position, logits for the token that follows it.

    >>> model = DialogueGPT(vocab_size=11, max_N=6, dim=8, attn_dim=4, mlp_dim=16, num_heads=2, num_layers=1)
    >>> model.generate(torch.tensor([[0, 3, 7]]), num_tokens=2).shape
    torch.Size([1, 5])
    """

    def __init__(self, vocab_size: int, max_N: int,
                 dim: int, attn_dim: int, mlp_dim: int, num_heads: int, num_layers: int) -> None:  # fmt: skip
        super().__init__()
        check_sizes(vocab_size=vocab_size, max_N=max_N, dim=dim)
        self.max_N = max_N
        self.tok_E = nn.Embedding(vocab_size, dim)
        self.pos_E = nn.Embedding(max_N, dim)
        self.transformer = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.head = nn.Sequential(nn.LayerNorm(dim), Affine(dim, vocab_size))

    def forward(self, input_ids: Tensor, return_attn: bool = False) -> tuple[Tensor, Tensor | None]:
        """Map ids (B,T) to logits (B,T,vocab_size) and, if asked, weights (B,L,H,T,T)."""
        check_shape("input_ids", input_ids, "B", "T")
        if not 1 <= (T := input_ids.shape[-1]) <= self.max_N:
            raise ValueError(f"input_ids must have from 1 to max_N={self.max_N} positions, got {T}")
        x = self.tok_E(input_ids) + self.pos_E.weight[:T]  # B T dim
        x, alphas = self.transformer(x, Causal(), return_attn)
        return self.head(x), alphas

    @torch.no_grad()
    def generate(self, input_ids: Tensor, num_tokens: int) -> Tensor:
        """Append the likeliest token `num_tokens` times, so (B,T) becomes (B,T+num_tokens)."""
        check_shape("input_ids", input_ids, "B", "T")
        check_int("num_tokens", num_tokens, least=0)
        if (T := input_ids.shape[-1]) + num_tokens > self.max_N:
            raise ValueError(f"T + num_tokens must be at most max_N={self.max_N}, got {T} + {num_tokens}")
        for _ in range(num_tokens):
            last = self(input_ids)[0][..., -1:, :]  # B 1 V
            input_ids = torch.cat([input_ids, last.argmax(dim=-1)], dim=-1)  # B T and B 1 -> B T+1
        return input_ids


class DialogueLoss(nn.Module):
    """Mean cross-entropy of the real tokens, each predicted by the logits one position before it.

    >>> ids, mask = torch.tensor([[0, 3, 1]]), torch.tensor([[1, 1, 0]])
    >>> DialogueLoss()(torch.zeros(1, 3, 4), ids, mask)  # no idea among four tokens: log 4
    tensor(1.3863)
    """

    def forward(self, logits: Tensor, input_ids: Tensor, inp_mask: Tensor) -> Tensor:
        """Give the loss, a scalar, for logits (B,T,V), ids (B,T) and a mask (B,T) with 1 for real tokens."""
        check_shape("logits", logits, "B", "T", "V")
        check_shape("input_ids", input_ids, *logits.shape[:-1])
        check_shape("inp_mask", inp_mask, *logits.shape[:-1])
        # <START>, the first token, is predicted by nothing; the last logits predict nothing.
        guesses, targets = logits[..., :-1, :], input_ids[..., 1:].to(logits.device)
        real = inp_mask[..., 1:].to(logits.device) == 1
        if not real.any():
            raise ValueError(f"inp_mask must mark a token to predict, got none in {tuple(inp_mask.shape)}")
        return nn.functional.cross_entropy(guesses[real], targets[real])  # R V against R, for R real targets
