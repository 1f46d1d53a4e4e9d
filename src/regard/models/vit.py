"""ViT: an image is a sentence whose words are its patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.layers import Assembly, Mixer, PatchProjection, PreNorm, Softmax, Trace
from regard.layers.initial import without_memory
from regard.layers.letters import check_size
from regard.layers.position import LearnedTable
from regard.layers.shapes import (
    ClassTokenShape,
    ElementwiseShape,
    ImageShape,
    LinearShape,
    MeanShape,
    MovedShape,
    PatchTableShape,
    PerRowShape,
    Shape,
    WeightsShape,
    classifier,
)
from regard.models.pooling import (
    ClassAndMean,
    Distilled,
    Pooler,
    ViTPool,
    check_pool,
    pooler_of,
    special_tokens,
)
from regard.models.trunk import Trunk, WithTrunk, check_tokens, mean_pool
from regard.pattern import Full, Pattern
from regard.sharing.sizes import pair


@dataclass(frozen=True, kw_only=True)
class ViTConfig(WithTrunk):
    """The shape of a ViT; sizes are (rows, cols) or one number for both.

    With `pool="class"` token 0 is a class token and reads the image; with "mean" there are patches alone,
    so that patterns over their grid fit; `Pooler`, `ClassAndMean` and `Distilled` are those of other papers.
    `classes=None` leaves the pooled features without a head.

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
    mixer: Mixer | Sequence[Mixer] = Softmax()  # noqa: RUF009 - a frozen value
    block: Assembly = PreNorm()  # noqa: RUF009 - a frozen value
    pool: ViTPool = "class"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", pair("image", self.image, 1))
        object.__setattr__(self, "patch", pair("patch", self.patch, 1))
        check_size("channels", self.channels)
        check_pool(self.pool, self.classes, (Pooler, ClassAndMean, Distilled))
        (rows, cols), (high, wide) = pair("image", self.image, 1), pair("patch", self.patch, 1)
        if rows % high or cols % wide:
            raise ValueError(f"patches must tile the image, got image={(rows, cols)}, patch={(high, wide)}")
        self.check_trunk()
        for pattern in set(self.patterns):
            pattern.resolve(self.tokens)

    @property
    def grid(self) -> tuple[int, int]:
        """How many patches there are, (rows, cols)."""
        (rows, cols), (high, wide) = pair("image", self.image, 1), pair("patch", self.patch, 1)
        return rows // high, cols // wide

    @property
    def tokens(self) -> int:
        """How many tokens the blocks see: the patches, and the class token if there is one."""
        return self.grid[0] * self.grid[1] + special_tokens(self.pool)

    @property
    def read_width(self) -> int:
        """The width of what the head reads."""
        if isinstance(self.pool, Pooler):
            return self.pool.width_of(self.width)
        return 2 * self.width if isinstance(self.pool, ClassAndMean) else self.width

    def shapes(self) -> ImageShape:
        """Patches, positions, blocks, the class token or the mean, a classifier."""
        (rows, cols), (high, wide) = self.grid, pair("patch", self.patch, 1)
        taps, special = self.channels * high * wide, special_tokens(self.pool)
        table = PatchTableShape(places=rows * cols, width=self.width, class_token=special > 0)
        tokens = self.trunk.shapes()
        for _ in range(special):
            tokens = {name: part and ClassTokenShape(part) for name, part in tokens.items()}
        parts: dict[str, Shape | None] = {
            "patches": LinearShape(inputs=taps, outputs=self.width) + MovedShape(width=taps),
            "position": table + WeightsShape(count=self.width) if special > 1 else table,
            **tokens,
            **self._read_shapes(),
        }
        return ImageShape(
            shape=classifier(parts, self.read_width, self.classes),
            size=pair("image", self.image, 1),
            patch=(high, wide),
            resizes=True,
            class_token=special,
        )

    def _read_shapes(self) -> dict[str, Shape | None]:
        """What lies between the blocks and the head; the last norm is of the tokens that are read."""
        norm: Shape | None = self.trunk.norm if self.block.norms_output else None
        mean, pool, classes = MeanShape(width=self.width), self.pool, self.classes
        if pool == "mean":
            return {"output_norm": norm, "mean": mean}
        if isinstance(pool, ClassAndMean):
            return {"output_norm": norm and ClassTokenShape(norm), "mean": mean}
        if pool == Distilled(heads=2) and classes is not None:
            average = ElementwiseShape(adds=classes, multiplies=classes)
            second = LinearShape(inputs=self.width, outputs=classes) + average
            norm = norm and PerRowShape(ClassTokenShape(norm))  # two tokens
            return {"output_norm": norm, "distillation_head": PerRowShape(second)}
        pooler = pooler_of(pool)
        pooled = None if pooler is None else pooler.shape(self.width)
        return {"output_norm": norm and PerRowShape(norm), "pooler": pooled}


class ViT(Trunk):
    """An image classifier.

    >>> model = ViT(ViTConfig(image=(8, 12), patch=4, classes=10, depth=2, width=32, heads=4))
    >>> model(torch.zeros(5, 3, 8, 12)).shape
    torch.Size([5, 10])
    """

    def __init__(self, config: ViTConfig, *, generator: torch.Generator | None = None) -> None:
        device = torch.get_default_device()
        with without_memory():
            super().__init__(config.trunk)
            self.config = config
            # A head that reads token 0 alone needs no other token of a last block that sees everything.
            last = (config.patterns[-1:], config.mixers[-1:]) == ((Full(),), (Softmax(),))
            alone = config.pool not in ("mean", ClassAndMean(), Distilled(heads=2))
            self.reads_token_0 = alone and last and config.block.in_turn
            rows, cols = config.grid
            self.patches = PatchProjection(config.channels, config.width, pair("patch", config.patch, 1))
            self.position = LearnedTable(rows * cols, config.width)
            special, classes, read = special_tokens(config.pool), config.classes, config.read_width
            self.class_token = nn.Parameter(torch.empty(1, 1, config.width)) if special else None
            self.distillation_token = nn.Parameter(torch.empty(1, 1, config.width)) if special > 1 else None
            self.pooler = config.pool.build(config.width) if isinstance(config.pool, Pooler) else None
            self.head = None if classes is None else nn.Linear(read, classes)
            two = config.pool == Distilled(heads=2)
            self.distillation_head = None if classes is None or not two else nn.Linear(read, classes)
        self.fill(device, generator)

    def features(
        self,
        images: Tensor,
        *,
        segments: Tensor | None = None,
        patches: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map images to the tokens after the last norm (B,1+P,C), or (B,P,C) without a class token.

        A distillation token stands behind the class token.
        """
        x, segments = self._embedded(images, segments, patches)
        return self.output_norm(self.run(x, segments=segments, trace=trace, generator=generator))

    def forward(
        self,
        images: Tensor,
        *,
        segments: Tensor | None = None,
        patches: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map images (B,channels,rows,cols), of any size that patches tile, to logits (B,classes).

        `segments` (B,P) are 0 for real patches and −1 for padding. Of all patches, row by row, only those
        at `patches` are read, where it is given.
        """
        bare = torch.compiler.is_compiling() and trace is None and segments is None
        x, segments = self._embedded(images, segments, patches)
        if bare and self.reads_token_0:
            x = self.blocks.first(self.enter(x, generator=generator), generator=generator)
        else:
            x = self.run(x, segments=segments, trace=trace, generator=generator)
        return self._read(x, segments)

    def _read(self, x: Tensor, segments: Tensor | None) -> Tensor:
        """The logits, or the pooled features, of what the last block gives."""
        pool = self.config.pool
        if self.distillation_head is not None and self.head is not None:
            both = self.output_norm(x[:, :2])
            return (self.head(both[:, 0]) + self.distillation_head(both[:, 1])) / 2
        if self.class_token is None:
            pooled = mean_pool(self.output_norm(x), segments)
        elif isinstance(pool, ClassAndMean):
            x = self.output_norm(x)
            patches = mean_pool(x[:, 1:], None if segments is None else segments[:, 1:])
            pooled = torch.cat([x[:, 0], patches], dim=1)
        else:  # the class token alone is normed: the other tokens have served their purpose
            pooled = self.output_norm(x[:, 0])
        if self.pooler is not None and isinstance(pool, Pooler):
            pooled = pool.apply(self.pooler(pooled))
        return pooled if self.head is None else self.head(pooled)

    def _embedded(
        self, images: Tensor, segments: Tensor | None, patches: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        grid = self.patches.grid(images)
        if segments is not None:
            check_tokens("segments", segments, (len(images), grid[0] * grid[1]))
        x = self.patches(images) + self.position.resized(self.config.grid, grid)  # B P C
        if patches is not None:
            if set(self.config.patterns) != {Full()}:
                raise ValueError(f"patches needs the pattern full, got pattern={self.config.pattern}")
            x, segments = x[:, patches], None if segments is None else segments[:, patches]
        special = [token for token in (self.class_token, self.distillation_token) if token is not None]
        if special:
            x = torch.cat([*(token.expand(len(x), -1, -1) for token in special), x], dim=1)  # B 1+P C
            segments = None if segments is None else pad(segments, (len(special), 0))
        return x, segments
