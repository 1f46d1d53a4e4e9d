"""ViT: an image is a sentence whose words are its patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.errors import check_int
from regard.layers import Assembly, PatchEmbed, PreNorm, Trace, cycle
from regard.layers.position import LearnedTable
from regard.layers.stack import check_pattern
from regard.models.trunk import Trunk, check_tokens, check_trunk, mean_pool
from regard.pattern import Full, Pattern
from regard.sharing.sizes import pair

POOLS = ("class", "mean")


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """The shape of a ViT; sizes are (rows, cols) or one number for both.

    With `pool="class"` token 0 is a class token and reads the image; with "mean" there are patches alone,
    so that patterns over their grid fit. `classes=None` leaves the pooled features without a head.

    >>> ViTConfig(image=(28, 20), patch=4, channels=1, classes=10).grid
    (7, 5)
    """

    image: int | tuple[int, int]
    patch: int | tuple[int, int]
    channels: int = 3
    classes: int | None = None
    depth: int = 6
    width: int = 384
    heads: int = 6
    head_width: int | None = None
    pattern: Pattern | Sequence[Pattern] = Full()  # noqa: RUF009 - a frozen value
    block: Assembly = PreNorm()  # noqa: RUF009 - a frozen value
    pool: str = "class"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", pair("image", self.image, 1))
        object.__setattr__(self, "patch", pair("patch", self.patch, 1))
        check_int("channels", self.channels, 1)
        if self.classes is not None:
            check_int("classes", self.classes, 1)
        if self.pool not in POOLS:
            raise ValueError(f"pool must be one of {POOLS}, got pool={self.pool!r}")
        (rows, cols), (high, wide) = pair("image", self.image, 1), pair("patch", self.patch, 1)
        if rows % high or cols % wide:
            raise ValueError(f"patches must tile the image, got image={(rows, cols)}, patch={(high, wide)}")
        object.__setattr__(self, "pattern", check_pattern(self.pattern))
        for pattern in self.patterns:
            pattern.resolve(self.tokens)
        check_trunk(self.width, self.heads, self.head_width, self.block, dropout=self.dropout)

    @property
    def grid(self) -> tuple[int, int]:
        """How many patches there are, (rows, cols)."""
        (rows, cols), (high, wide) = pair("image", self.image, 1), pair("patch", self.patch, 1)
        return rows // high, cols // wide

    @property
    def tokens(self) -> int:
        """How many tokens the blocks see: the patches, and the class token if there is one."""
        return self.grid[0] * self.grid[1] + (self.pool == "class")

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """What each block applies."""
        return cycle(self.pattern, self.depth)

    @property
    def head_size(self) -> int:
        """The width of one head."""
        return self.width // self.heads if self.head_width is None else self.head_width


class ViT(Trunk):
    """An image classifier.

    >>> model = ViT(ViTConfig(image=(8, 12), patch=4, classes=10, depth=2, width=32, heads=4))
    >>> model(torch.zeros(5, 3, 8, 12)).shape
    torch.Size([5, 10])
    """

    def __init__(self, config: ViTConfig, *, generator: torch.Generator | None = None) -> None:
        device = torch.get_default_device()
        with torch.device("meta"):
            super().__init__(
                config.patterns,
                config.block,
                width=config.width,
                heads=config.heads,
                head_width=config.head_width,
                dropout=config.dropout,
            )
            self.config = config
            rows, cols = config.grid
            self.patches = PatchEmbed(config.channels, config.width, pair("patch", config.patch, 1))
            self.position = LearnedTable(rows * cols, config.width)
            self.class_token = (
                nn.Parameter(torch.empty(1, 1, config.width)) if config.pool == "class" else None
            )
            self.head = None if config.classes is None else nn.Linear(config.width, config.classes)
        self.fill(device, generator)

    def features(
        self,
        images: Tensor,
        *,
        segments: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map images to the tokens after the last norm (B,1+P,C), or (B,P,C) without a class token."""
        x, _ = self._tokens(images, segments, trace, generator)
        return self.output_norm(x)

    def forward(
        self,
        images: Tensor,
        *,
        segments: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map images (B,channels,rows,cols), of any size that patches tile, to logits (B,classes).

        `segments` (B,P) are 0 for real patches and −1 for padding.
        """
        if torch.compiler.is_compiling() and trace is None and self._reads_token_0(segments):
            # The head reads token 0, so the last block need not make the others.
            x = self.blocks.first(
                self.enter(self._embedded(images)[0], generator=generator), generator=generator
            )
        else:
            x, segments = self._tokens(images, segments, trace, generator)
        # The class token alone is normed: the other tokens have served their purpose.
        pooled = self.output_norm(x[:, 0]) if self.class_token is not None else None
        if pooled is None:
            pooled = mean_pool(self.output_norm(x), segments)
        return pooled if self.head is None else self.head(pooled)

    def _reads_token_0(self, segments: Tensor | None) -> bool:
        patterns = self.config.patterns
        return self.class_token is not None and segments is None and patterns[-1:] == (Full(),)

    def _tokens(
        self,
        images: Tensor,
        segments: Tensor | None,
        trace: Trace | None,
        generator: torch.Generator | None,
    ) -> tuple[Tensor, Tensor | None]:
        x, segments = self._embedded(images, segments)
        return self.run(x, segments=segments, trace=trace, generator=generator), segments

    def _embedded(self, images: Tensor, segments: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        grid = self.patches.grid(images)
        if segments is not None:
            check_tokens("segments", segments, (len(images), grid[0] * grid[1]))
        x = self.patches(images) + self.position.resized(self.config.grid, grid)  # B P C
        if self.class_token is not None:
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1)  # B 1+P C
            segments = None if segments is None else pad(segments, (1, 0))
        return x, segments
