"""The vision transformer: an image is a sentence whose words are its patches."""

import torch
from torch import Tensor, nn

from regard.course.attention import Affine
from regard.course.transformer import Transformer
from regard.errors import check_shape, check_sizes


class PatchEmbed(nn.Module):
    """Cut an image into patches, read row by row, and map each to a token with the same weights.

    >>> embed = PatchEmbed(img_size=32, patch_size=4, nin=3, nout=8)
    >>> embed.num_patches, embed(torch.zeros(5, 3, 32, 32)).shape
    (64, torch.Size([5, 64, 8]))
    """

    def __init__(self, img_size: int, patch_size: int, nin: int, nout: int) -> None:
        super().__init__()
        check_sizes(img_size=img_size, patch_size=patch_size, nin=nin, nout=nout)
        if img_size % patch_size != 0:
            raise ValueError(f"patch_size must divide img_size, got {img_size=}, {patch_size=}")
        self.img_size, self.nin = img_size, nin
        self.num_patches = (img_size // patch_size) ** 2
        self.conv = nn.Conv2d(nin, nout, kernel_size=patch_size, stride=patch_size)

    def forward(self, img: Tensor) -> Tensor:
        """Map images (B,nin,S,S) to tokens (B,P,nout)."""
        check_shape("img", img, "B", self.nin, self.img_size, self.img_size)
        x = self.conv(img).flatten(start_dim=-2)  # B nout rows cols -> B nout P
        return x.transpose(-2, -1)  # B P nout; a reshape would mix channels with patches


class VisionTransformer(nn.Module):
    """Classify an image by a class token that attends to all its patches.

    >>> vit = VisionTransformer(3, 10, 32, 8, dim=8, attn_dim=4, mlp_dim=16, num_heads=2, num_layers=1)
    >>> logits, alphas = vit(torch.zeros(5, 3, 32, 32), return_attn=True)
    >>> logits.shape, alphas.shape  # 16 patches and the class token, which is token 0
    (torch.Size([5, 10]), torch.Size([5, 1, 2, 17, 17]))
    """

    def __init__(  # noqa: PLR0913, PLR0917 -- the lecture's own signature
        self, n_channels: int, nout: int, img_size: int, patch_size: int,
        dim: int, attn_dim: int, mlp_dim: int, num_heads: int, num_layers: int,
    ) -> None:  # fmt: skip
        super().__init__()
        check_sizes(n_channels=n_channels, nout=nout, dim=dim)
        self.patch_embed = PatchEmbed(img_size, patch_size, nin=n_channels, nout=dim)
        self.pos_E = nn.Embedding(self.patch_embed.num_patches, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.transformer = Transformer(dim, attn_dim, mlp_dim, num_heads, num_layers)
        self.head = nn.Sequential(nn.LayerNorm(dim), Affine(dim, nout))

    def forward(self, img: Tensor, return_attn: bool = False) -> tuple[Tensor, Tensor | None]:
        """Map images (B,n_channels,S,S) to logits (B,nout) and, if asked, weights (B,L,H,1+P,1+P)."""
        patches = self.patch_embed(img) + self.pos_E.weight  # B P dim
        cls_token = self.cls_token[0].expand(*patches.shape[:-2], 1, -1)  # B 1 dim, without a position
        x, alphas = self.transformer(torch.cat([cls_token, patches], dim=-2), return_attn=return_attn)
        return self.head(x[..., 0, :]), alphas
