"""What threads ask for: one small world of models, runs and files, and a job for each public function.

A job takes the number of an input and gives something to compare, the same each time.
"""

import io
import threading
import warnings
from pathlib import Path

import matplotlib as mpl
import torch

from regard import probe, zoo
from regard.data import CharTokenizer, WordTokenizer
from regard.layers import Rotary
from regard.models import (
    GPT,
    Encoder,
    EncoderConfig,
    GPTConfig,
    GridCompletion,
    GridCompletionConfig,
    GRUClassifier,
    GRUConfig,
    ViT,
    ViTConfig,
    decode_prepacked,
)
from regard.paper.pixels import png
from regard.pattern import Causal, Global, Strided
from regard.train import open_run
from regard.train.runs.opening import WEIGHTS, make_run

VARIANTS = 5  # different inputs of each job
WORDS = ["the", "acting", "is", "not", "one", "dull", "minute", "of", "a", "wonderful", "film", "🦁"]


def plain(value):
    """Anything that a function gives as something to compare: tensors by their bytes."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.detach().contiguous().view(-1).numpy().tobytes()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


class World:
    """What all threads share: models in training and for use, runs, pictures, and a zoo of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = WordTokenizer.train([" ".join(WORDS)])
        chars = CharTokenizer.train([" ".join(WORDS)])
        small = {"depth": 2, "width": 16, "heads": 2, "dropout": 0.5}
        text = {"vocab": words.vocab, "context": 12, "classes": 2}
        self.vit = _strong(ViT(ViTConfig(image=(6, 4), patch=2, channels=1, classes=3, **small)))
        self.encoder = _strong(Encoder(EncoderConfig(**text, **small)))
        self.gru = _strong(GRUClassifier(GRUConfig(**text, width=8, hidden=8, dropout=0.5)))
        self.grid = _strong(GridCompletion(GridCompletionConfig(levels=4, hidden=6)))
        patterns = [Strided(back=7), Causal(), Strided(back=3) | Global(first=2)]
        self.gpt = _strong(
            GPT(GPTConfig(vocab=chars.vocab, context=96, pattern=patterns, position=Rotary(), **small))
        )
        about = {"mean": [0.5], "std": [0.25], "image": [1, 6, 4], "classes": ["cat", "dog", "emu"]}
        verdicts = {"task": "texts", "data": "verdicts", "classes": ["negative", "positive"], "context": 12}
        self.runs = {
            "images": make_run(folder, self.vit, {"task": "images", "data": "digits", **about}, None),
            "texts": make_run(folder, self.encoder, verdicts, words),
            "gru": make_run(folder, self.gru, verdicts, words),
            "language": make_run(folder, self.gpt, {"task": "language", "context": 96}, chars),
            "completion": make_run(folder, self.grid, {"task": "completion", "image": [6, 4]}, None),
        }
        self.training = {"vit": _copy(self.vit), "encoder": _copy(self.encoder), "gpt": _copy(self.gpt)}
        self.models = [*(run.model for run in self.runs.values()), *self.training.values()]
        for i in range(VARIANTS):
            (folder / f"{i}.png").write_bytes(png(_pictures(1, i)[0].permute(1, 2, 0).repeat(2, 3, 3)))
            (folder / f"{i}.txt").write_text(self.text(i), encoding="utf-8")
        self.zoo = folder / "zoo"
        for i in range(VARIANTS):
            zoo.put(self.runs["texts"], f"texts-{i}", "# made here", folder=self.zoo)

    def text(self, i: int) -> str:
        return " ".join(WORDS[(3 * i + 5 * j) % len(WORDS)] for j in range(4 + 3 * i))

    def state(self) -> dict[str, object]:
        """All that could be left behind."""
        parts = [part for model in self.models for part in model.modules()]
        return {
            "modes": [part.training for part in parts],
            "hooks": [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in parts],
            "gradients": [w.grad is not None for model in self.models for w in model.parameters()],
            "learning": [w.requires_grad for model in self.models for w in model.parameters()],
            "weights": [plain(dict(model.state_dict())) for model in self.models],
            "warnings": [str(one) for one in warnings.filters],
            "settings of torch": (
                torch.get_num_threads(),
                torch.is_grad_enabled(),
                torch.get_default_dtype(),
                torch.are_deterministic_algorithms_enabled(),
            ),
            "torch's own generator": plain(torch.get_rng_state()),
            "settings of matplotlib": dict(mpl.rcParams),
        }


def _strong(model):
    """Weights that make answers differ, from a generator of their own."""
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=g) * (0.5 if weight.ndim > 1 else 0.1))
    return model.eval()


def _copy(model):
    """The same model in the middle of a training."""
    other = type(model)(model.config)
    other.load_state_dict(model.state_dict())
    return other.train()


def _pictures(count, seed):
    return torch.randint(0, 256, (count, 1, 6, 4), generator=torch.Generator().manual_seed(seed)).byte()


def _drawn(figure, folder):
    """The bytes of a figure as PNG and as SVG."""
    out = []
    for kind in ("png", "svg"):
        path = Path(folder) / f"{threading.get_ident()}.{kind}"
        probe.save_figure(figure, path)
        out.append(path.read_bytes())
    return out


def jobs_of(world, only=()):
    """All of them by name, or those whose names begin so."""
    groups = {"probe": probing, "zoo": keeping, "generate": generating}
    wanted = [make for name, make in groups.items() if not only or any(one.startswith(name) for one in only)]
    jobs = {name: job for make in wanted for name, job in make(world).items()}
    return {name: job for name, job in jobs.items() if not only or name.startswith(only)}


def probing(world):
    """Every public function of `probe`."""
    vit, encoder, gpt = (world.training[name] for name in ("vit", "encoder", "gpt"))

    def tokens(i):
        return torch.randint(3, 8, (2, 3 + i), generator=torch.Generator().manual_seed(i))

    def look(i):
        shown = _pictures(2 + i % 2, i)
        labels = torch.arange(len(shown)) % 3
        return probe.look_images(vit, shown / 255, shown, ["cat", "dog", "emu"], labels=labels, steps=2)

    def text(i, run="texts"):
        return world.runs[run].look([world.text(i)], steps=2).texts[0]

    def hiding(i):
        shown, draw = _pictures(4, i), torch.Generator().manual_seed(i)
        scores = probe.score_images(vit, shown / 255, method=("attention", "rollout", "gradient")[i % 3])
        labels = torch.arange(4) % 3
        return probe.check_by_hiding(
            vit, shown / 255, labels, scores, generator=draw, shares=(0, 0.5), repeats=2
        )

    def completion(i):
        levels = probe.to_levels(_pictures(2, i), 4)
        draw = torch.Generator().manual_seed(i) if i % 2 else None
        return probe.complete_images(world.runs["completion"].model, levels, generator=draw)

    def positions(i):
        return probe.position_similarity((vit, encoder)[i % 2])

    def report(i):
        g = torch.Generator().manual_seed(i)
        logits, labels = torch.randn(40, 3, generator=g), torch.randint(3, (40,), generator=g)
        return probe.judge(logits, labels, ["cat", "dog", "emu"], shown=[f"{i}-{j}" for j in range(40)])

    def seen(i):
        found = probe.see((encoder, gpt)[i % 2], tokens(i))
        return [
            found.logits,
            probe.mean_attention(found),
            probe.head_attention(found),
            probe.rollout(found),
        ]

    def gradients(i):
        return probe.integrated_gradients((encoder, gpt)[i % 2], tokens(i), steps=3)

    def maps(i):
        found = look(i)
        grid = probe.patch_map(found.maps["attention"].flatten(1), (3, 2))
        return [grid, probe.relative(grid), probe.upsample(grid, (6, 4))]

    def read(i):
        run = world.runs["texts"]
        return [
            probe.read_text(world.text(i), run.tokenizer, words=bool(i % 2)),
            probe.clean(f"<i>{world.text(i)}</i>"),
            probe.pieces_of(run.tokenizer.encode(world.text(i)), run.tokenizer.decode),
        ]

    def terminal(i):
        from rich.console import Console

        out = io.StringIO()
        Console(file=out, width=90, force_terminal=True).print(probe.text_terminal(text(i)))
        return out.getvalue()

    def pages(i):
        sections = [
            probe.images_section(look(i)),
            probe.heads_section(look(i)),
            probe.hiding_section(hiding(i)),
            probe.completion_section(completion(i)),
            probe.text_section(text(i)),
            *probe.report_sections(report(i)),
        ]
        return probe.page(f"page {i}", sections), probe.report_markdown(report(i))

    figures = {
        "images_figure": lambda i: probe.images_figure(look(i)),
        "heads_figure": lambda i: probe.heads_figure(look(i)),
        "completion_figure": lambda i: probe.completion_figure(completion(i)),
        "hiding_figure": lambda i: probe.hiding_figure(hiding(i)),
        "position_figure": lambda i: probe.position_figure(positions(i)),
        "text_figure": lambda i: probe.text_figure(text(i)),
    }
    jobs = {
        "see": seen,
        "input_gradient": lambda i: probe.input_gradient(encoder, tokens(i)),
        "integrated_gradients": gradients,
        "look_images": look,
        "look_text": lambda i: text(i, ("texts", "gru", "language")[i % 3]),
        "check_by_hiding": hiding,
        "complete_images": completion,
        "position_similarity": positions,
        "judge": report,
        "patch_map": maps,
        "read_text": read,
        "read_image": lambda i: probe.read_image(world.folder / f"{i}.png", (6, 4), 1 + 2 * (i % 2)),
        "text_html": lambda i: probe.text_html(text(i)),
        "text_terminal": terminal,
        "page": pages,
        **{name: lambda i, make=make: _drawn(make(i), world.folder) for name, make in figures.items()},
    }
    return {f"probe:{name}": lambda i, job=job: plain(job(i)) for name, job in jobs.items()}


def keeping(world):
    """Every public function of `zoo`, and predictions."""

    def put(i):
        found = zoo.put(world.runs["texts"], f"texts-{i}", "# made here", folder=world.zoo)
        return found.name, found.card, dict(found.model.state_dict())

    def add(i):
        made = zoo.add(_run_folder(world), f"added-{threading.get_ident() % 1000}", folder=world.zoo)
        return made.card[:0], dict(made.model.state_dict())

    def load(i):
        found = zoo.load(f"texts-{i}", world.zoo)
        return dict(found.model.state_dict()), found.model.training, zoo.card(f"texts-{i}", world.zoo)

    def shipped(i):
        name = zoo.names()[i % len(zoo.names())]
        run = open_run(f"zoo:{name}")
        return name, type(run.model).__name__, zoo.size(WEIGHTS / name) > 0, run.as_dict()

    def judged(i):
        (found,) = world.runs[("texts", "gru")[i % 2]].explain([world.text(i)], steps=2)
        return found.as_dict()

    def looked(i):
        run = ("images", "texts", "language", "completion")[i % 4]
        given = str(world.folder / f"{i}.{'png' if run in ('images', 'completion') else 'txt'}")
        return world.runs[run].look([given], steps=2).as_dict()

    def predicted(i):
        kind = ("images", "texts", "gru")[i % 3]
        given = str(world.folder / f"{i}.png") if kind == "images" else world.text(i)
        return [one.as_dict() for one in world.runs[kind].predict([given])]

    jobs = {
        "put": put,
        "add": add,
        "load": load,
        "open_run": shipped,
        "explain": judged,
        "look": looked,
        "predict": predicted,
    }
    return {f"zoo:{name}": lambda i, job=job: plain(job(i)) for name, job in jobs.items()}


def _run_folder(world):
    from tests.train.runs.conftest import write_run

    folder = world.folder / f"run-{threading.get_ident()}"
    if not folder.exists():
        run = world.runs["texts"]
        write_run(folder, run.model, run.description, run.tokenizer)
    return folder


def generating(world):
    """`generate` and `stream` of one model, in every way that runs here."""
    models = (world.runs["language"].model, world.training["gpt"])

    def prompts(i):
        g = torch.Generator().manual_seed(i)
        return [torch.randint(3, 12, (2 + 3 * j,), generator=g) for j in range(1 + i % 3)]

    def generate(i, **more):
        draw = torch.Generator().manual_seed(i)
        how = {"temperature": 0.0 if i % 2 else 1.0, "top_k": None if i < 3 else 5, "generator": draw}
        return models[i % 2].generate(prompts(i), max_new_tokens=10 + 8 * i, **how, **more)

    def stream(i):
        steps = models[i % 2].stream(prompts(i), max_new_tokens=40)
        out = [next(steps) for _ in range(5 + i)]
        steps.close()
        return out

    def inference(i):
        with torch.inference_mode():
            return [row.clone() for row in generate(i)]

    jobs = {
        "plain": lambda i: generate(i, impl="plain"),
        "lean": lambda i: generate(i, impl="lean"),
        "prepacked": lambda i: models[i % 2].generate(
            prompts(i), max_new_tokens=decode_prepacked.PAYS_FROM + i
        ),
        "stream": stream,
        "inference": inference,
    }
    return {f"generate:{name}": lambda i, job=job: plain(job(i)) for name, job in jobs.items()}
