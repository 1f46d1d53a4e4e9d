"""`regard bench models`: a training step of a ViT beside timm, vit-pytorch and transformers.

Everyone gets the same treatment: weights in float32, on a GPU bfloat16 by autocast and a fused AdamW, on a
CPU forward and backward in float32. On a GPU "compiled" means torch.compile with CUDA graphs of its own, and
"captured", as `regard train` runs it, with the whole step in one, optimiser included (timm gains 1 % by it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.bench.report import BenchReport
from regard.bench.timing import Timed, captured, milliseconds
from regard.models import ViT, ViTConfig, from_huggingface

CLOSE = 1e-4  # how far logits may differ


@dataclass(frozen=True)
class ViTSize:
    """What all four build."""

    image: int
    channels: int
    depth: int
    width: int
    heads: int
    patch: int = 4
    classes: int = 10

    def __str__(self) -> str:
        image = f"{self.image}×{self.image}×{self.channels}/{self.patch}"
        return f"ViT {image}, depth {self.depth}, width {self.width}"


FULL = (ViTSize(28, 1, 6, 128, 4), ViTSize(32, 3, 6, 256, 4))
QUICK = (ViTSize(28, 1, 1, 16, 2), ViTSize(32, 3, 1, 16, 2))


def run(device: str, quick: bool) -> BenchReport:
    """Check ours against transformers, then time everyone's step at two shapes."""
    batch = 4 if quick else 1024 if device == "cuda" else 16
    step = "forward, loss, backward" + (", fused AdamW" if device == "cuda" else "")
    dtype = "bfloat16 by autocast, weights float32" if device == "cuda" else "float32"
    settings = {"device": device, "quick": quick, "batch": batch, "dtype": dtype, "step": step}
    report = BenchReport("models", settings)
    sizes = QUICK if quick else FULL
    settings["checks"] = [_check(size) for size in sizes]
    for size in sizes:
        _time(report, size, batch, device)
    return report


def _ours(size: ViTSize) -> ViT:
    return ViT(ViTConfig(**asdict(size)), generator=torch.Generator().manual_seed(0))


@dataclass(frozen=True)
class Peer:
    """Where someone else's ViT comes from, what our sizes are called there, and its config if it has one."""

    module: str
    kind: str
    names: dict[str, str]
    config: str | None = None

    def build(self, size: ViTSize) -> nn.Module:
        """Theirs of this size."""
        found, sizes = import_module(self.module), asdict(size)
        sizes |= {"hidden": 4 * size.width, "head_width": size.width // size.heads}
        named = {theirs: sizes[ours] for theirs, ours in self.names.items()}
        kind: Callable[..., nn.Module] = getattr(found, self.kind)
        return kind(**named) if self.config is None else kind(getattr(found, self.config)(**named))


PEERS = {
    "timm": Peer("timm.models.vision_transformer", "VisionTransformer", {
        "img_size": "image", "patch_size": "patch", "in_chans": "channels", "num_classes": "classes",
        "embed_dim": "width", "depth": "depth", "num_heads": "heads",
    }),
    "vit-pytorch": Peer("vit_pytorch", "ViT", {
        "image_size": "image", "patch_size": "patch", "channels": "channels", "num_classes": "classes",
        "dim": "width", "depth": "depth", "heads": "heads", "dim_head": "head_width", "mlp_dim": "hidden",
    }),
    "transformers": Peer("transformers.models.vit.modeling_vit", "ViTForImageClassification", {
        "image_size": "image", "patch_size": "patch", "num_channels": "channels", "num_labels": "classes",
        "hidden_size": "width", "num_hidden_layers": "depth", "num_attention_heads": "heads",
        "intermediate_size": "hidden",
    }, config="ViTConfig"),
}  # fmt: skip


def logits(model: nn.Module, images: Tensor) -> Tensor:
    """What a model answers; transformers wraps it."""
    found = model(images)
    out: Tensor = getattr(found, "logits", found)
    return out


def _obstacle(peer: str) -> str | None:
    """Why a peer cannot be had, or None: it may be absent, or may not fit this torch."""
    try:
        import_module(PEERS[peer].module)
    except ModuleNotFoundError as error:
        absent = error.name == PEERS[peer].module.partition(".")[0]
        return "not installed" if absent else f"not installed: {error.name}"
    except (ImportError, RuntimeError) as error:
        return f"cannot be imported: {str(error).splitlines()[0]}"
    return None


def _check(size: ViTSize) -> str:
    """Raise unless ours gives the logits of transformers for the same weights."""
    obstacle = _obstacle("transformers")
    if obstacle is not None:
        return f"{size}: logits not compared, transformers: {obstacle}"
    import_module("transformers").logging.disable_progress_bar()
    model = PEERS["transformers"].build(size)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():  # at birth many are zero or one, and would not be missed
            fan_in = weight[0].numel()
            mean, spread = (0.5, 0.3) if weight.ndim == 1 else (0.0, fan_in**-0.5)
            weight.normal_(mean, spread, generator=generator)
        images, _ = _batch(size, 3, "cpu")
        want = logits(model, images)
        error = float((from_huggingface(model)(images) - want).abs().max())
    text = f"{size}: logits up to {want.abs().max():.1f} differ from transformers' by {error:.1e}"
    if not error <= CLOSE:
        raise ValueError(f"{text}, allowed {CLOSE}; not timed")
    return text


def _batch(size: ViTSize, batch: int, device: str) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, size.channels, size.image, size.image, generator=generator)
    return images.to(device), torch.randint(size.classes, (batch,), generator=generator).to(device)


def _time(report: BenchReport, size: ViTSize, batch: int, device: str) -> None:
    images, labels = _batch(size, batch, device)

    def measure(peer: str | None, how: str) -> Timed:
        obstacle = None if peer is None else _obstacle(peer)
        if obstacle is not None:
            return Timed(note=obstacle)
        model = _ours(size) if peer is None else PEERS[peer].build(size)
        step = training_step(model.to(device).train(), images, labels, how)
        spent = milliseconds(step, device, budget=1.0)
        return Timed(both=spent, note=f"{1e3 * batch / spent:,.0f} images/s")

    gpu = device == "cuda"
    ours = measure(None, "captured" if gpu else "eager")
    others: list[tuple[str | None, str]] = [(None, "eager"), ("timm", "compiled")] if gpu else []
    others += [(peer, "eager") for peer in PEERS]
    report.add(str(size), ours, {f"{peer or 'regard'}, {how}": measure(peer, how) for peer, how in others})


def training_step(
    model: nn.Module, images: Tensor, labels: Tensor, how: str = "eager"
) -> Callable[[], object]:
    """One step of training as a call: forward, loss and backward, and on a GPU the optimiser."""
    device = images.device.type
    optimizer = None
    if device == "cuda":
        whole = how == "captured"
        rate = torch.tensor(1e-4, device=device) if whole else 1e-4
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate, fused=True, capturable=whole)

    def loss(images: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found = logits(model, images)
        return cross_entropy(found.float(), labels)

    run: Callable[[Tensor, Tensor], Tensor] = loss
    if how != "eager":
        torch.compiler.reset()  # what was compiled for the model before counts against the limit
        run = torch.compile(loss, mode="reduce-overhead" if how == "compiled" else None)

    def step() -> None:
        # Gradients live in the graphs' memory: let them go before the next forward writes there.
        model.zero_grad(set_to_none=True)
        if how == "compiled":
            torch.compiler.cudagraph_mark_step_begin()
        run(images, labels).backward()
        if optimizer is not None:
            optimizer.step()

    if how == "compiled":
        for _ in range(5):  # compile, record the graphs, replay
            step()
    return captured(step) if how == "captured" else step
