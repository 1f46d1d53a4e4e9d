"""What cheaper patterns lose, and what dialogues cost by characters: trainings on a machine that has a GPU.

    python benchmarks/cheaper.py pack carry/cheaper --data-dir DATA       here: the text that must travel
    python benchmarks/cheaper.py train carry/cheaper --out OUT            there: the queue, for --minutes
    python benchmarks/cheaper.py table OUT                                here: records from what came back

`train` runs some processes at a time, the most important ones first: one seed of every variant and the two
models of dialogues, two more seeds of the four that lose least, these four at a context of 1,024. What is on
record is not trained again, so that a second call goes on where a first one ended. A process that wants to
time something asks for quiet: all others are stopped for as long. OUT is written again whenever a run ends.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import collect
from cheaper_runs import COMPARED, CONTEXTS, RECORD, Job
from collect import quoted
from regard.bench.machine import Machine, this_machine
from regard.files import write_json
from regard.values import Json

RESULTS = collect.RESULTS.parent
FILE = "cheaper.json"
SEEDS = 3
CLOSEST = 4
DRAIN = 2.5  # seconds until what stopped processes have sent to the GPU has run
QUIET = 25.0  # seconds that one process may keep the others waiting
FIRST = (
    *("linear-decay", "dialogue-ours", "dialogue-nanogpt", "causal", "dilated-heads", "sinks", "mixed"),
    *("strided-32", "strided-128", "windowed", "linear", "linear-softmax", "strided-64"),
)  # the longest first, and those that may fail


KEPT = (
    *("seed", "steps", "best_step", "validation", "seconds", "tokens_per_second", "device", "torch", "date"),
    "validation_trace",
)


def pack(folder: Path, data: Path) -> None:
    """The text as it lies in a folder of data."""
    there = folder / "tinyshakespeare"
    there.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(data / "tinyshakespeare" / "input.txt", there / "input.txt")
    print(f"{there}: {(there / 'input.txt').stat().st_size:,} bytes")


def on_record(folder: Path = RESULTS) -> list[Json]:
    """The runs that were recorded here before, as those of a queue."""
    out: list[Json] = []
    for path in (folder / "cheaper").glob("*.json"):
        out += json.loads(path.read_text("utf-8"))["runs"]
    seen = {(run["variant"], run["seed"], run["context"]) for run in out}
    for name in ("causal", "strided-64"):  # recorded before there was a queue
        path = folder / "runs" / f"{COMPARED[name].record}.json"
        if path.exists():
            for run in json.loads(path.read_text("utf-8"))["runs"]:
                if (name, run["seed"], CONTEXTS[0]) not in seen:
                    out.append({"variant": name, "context": CONTEXTS[0], **run})
    return out


class Queue:
    """The runs as processes, some at a time, until there are no more or time is up."""

    def __init__(self, given: argparse.Namespace, known: list[Json]) -> None:
        self.given, self.work, self.out, self.known = given, given.work, given.out, known
        self.until = time.monotonic() + 60 * given.minutes
        self.ended: list[Json] = []
        self.failed: list[Json] = []
        self.begun: set[Job] = set()
        self.again: list[Job] = []
        self.machine = this_machine().as_dict()
        self.going: dict[str, tuple[Job, subprocess.Popen[bytes], float]] = {}
        self.lasted: list[float] = []

    def run(self) -> None:
        """Start, look after and end processes."""
        said = time.monotonic()
        try:
            while time.monotonic() < self.until:
                while len(self.going) < self.given.beside and (job := self._next()) is not None:
                    self._start(job)
                if not self.going:
                    break
                time.sleep(0.1)
                self._quiet()
                self._reap()
                if time.monotonic() - said > 30:
                    said = time.monotonic()
                    self._report()
        finally:
            for _, process, _ in self.going.values():
                _signal(process, signal.SIGKILL)
                process.wait()
            self._reap()
            self.save()

    def jobs(self) -> Iterator[Job]:
        """All that is wanted, the most important first; what is not known yet shortens the list."""
        done = {(run["variant"], run["seed"], run["context"]) for run in (*self.known, *self.ended)}
        begun = {job.name for job in self.begun}
        here, best, usual = self.looked_at(), self.closest(), CONTEXTS[0]
        wanted: dict[str, list[Job]] = {"a": [], "b": [], "c": []}
        for name in self.given.first:
            free = [seed for seed in range(SEEDS) if (name, seed, usual) not in done]
            if (name, usual) not in here and name not in begun and free:
                wanted["a"].append(Job(name, free[0]))
        wanted["b"] = [Job(name, seed) for seed in range(SEEDS) for name in best]
        wanted["c"] = [Job(name, 0, context) for context in CONTEXTS[1:] for name in best]
        for group in self.given.groups:
            for job in wanted[group]:
                if (job.name, job.seed, job.context) not in done and job not in self.begun:
                    yield job

    def looked_at(self) -> set[tuple[str, int]]:
        """Variants and contexts that were timed, and models of dialogues that were scored."""
        return {
            (run["variant"], run["context"])
            for run in (*self.known, *self.ended)
            if "bits" in run or "tokens_per_second" in run.get("timing", {})
        }

    def closest(self) -> list[str]:
        """The variants of the lowest validation loss by what is known, and causal in any case."""
        losses: dict[str, list[float]] = {}
        for run in (*self.known, *self.ended):
            if run["variant"] in COMPARED and run["context"] == CONTEXTS[0]:
                losses.setdefault(run["variant"], []).append(run["validation"]["loss"])
        best = sorted(losses, key=lambda name: statistics.mean(losses[name]))[:CLOSEST]
        return best if "causal" in best or not best else ["causal", *best[: CLOSEST - 1]]

    def _next(self) -> Job | None:
        if self.again:
            return self.again.pop(0)
        found = next(self.jobs(), None)
        left = self.until - time.monotonic()
        if found is None or (self.lasted and left < 0.9 * statistics.median(self.lasted)):
            return None
        return found

    def _start(self, job: Job) -> None:
        self.begun.add(job)
        folder = self.work / "runs" / str(job)
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, str(Path(__file__).with_name("cheaper_runs.py")), str(job)]
        command += ["--work", str(self.work), "--data-dir", str(self.given.what)]
        if job.name in COMPARED and (job.name, job.context) not in self.looked_at():
            command.append("--timed")
        command += [word for setting in self.given.set for word in ("--set", setting)]
        env = {"OMP_NUM_THREADS": "4", "TORCHINDUCTOR_COMPILE_THREADS": "4", **os.environ}
        env |= {"PYTHONUNBUFFERED": "1", "TORCHINDUCTOR_CACHE_DIR": str(self.work / "inductor")}
        with (self.work / f"{job}.txt").open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=env, start_new_session=True
            )
        self.going[str(job)] = job, process, time.monotonic()
        print(f"{time.strftime('%H:%M:%S')} {job} begins", flush=True)

    def _reap(self) -> None:
        for name in [name for name, (_, process, _) in self.going.items() if process.poll() is not None]:
            job, _, begun = self.going.pop(name)
            seconds = time.monotonic() - begun
            path = self.work / "runs" / name / RECORD
            if path.exists():
                self.lasted.append(seconds)
                self.ended.append(json.loads(path.read_text("utf-8")))
                told = json.dumps({k: self.ended[-1].get(k) for k in ("validation", "timing", "bits")})
            else:
                told = (self.work / f"{name}.txt").read_text(errors="replace")[-1500:]
                self.failed.append({"variant": job.name, "run": name, "error": told[-600:]})
                if not job.plain and time.monotonic() < self.until:
                    self.again.append(replace(job, plain=True))
            print(f"{time.strftime('%H:%M:%S')} {name} ended, {seconds:.0f} s: {told}", flush=True)
            if name == self.given.bring and path.exists():
                from sentences import bring

                bring(self.work / "runs" / name, self.out)
            self.save()

    def _quiet(self) -> None:
        """Stop all others for each process that asks, as long as it times."""
        asking = sorted(self.work.glob("quiet/*.ask"))
        if not asking:
            return
        names = [path.stem for path in asking]
        others = [process for name, (_, process, _) in self.going.items() if name not in names]
        for process in others:
            _signal(process, signal.SIGSTOP)
        try:
            time.sleep(self.given.drain)
            for name in names:
                path = self.work / "quiet" / name
                if name not in self.going:
                    path.with_suffix(".ask").unlink(missing_ok=True)
                    continue
                process, until = self.going[name][1], time.monotonic() + QUIET
                path.with_suffix(".go").touch()
                while process.poll() is None and time.monotonic() < until:
                    if not path.with_suffix(".ask").exists():
                        break
                    time.sleep(0.02)
                else:
                    _signal(process, signal.SIGKILL)  # it has hung, and its loss is kept
                    path.with_suffix(".ask").unlink(missing_ok=True)
        finally:
            for process in others:
                _signal(process, signal.SIGCONT)

    def _report(self) -> None:
        for name, (_, _, begun) in self.going.items():
            lines = (self.work / f"{name}.txt").read_text(errors="replace").splitlines()
            told = [line for line in lines if line.startswith("step ")]
            last = told[-1] if told else (lines or ["nothing yet"])[-1]
            print(f"  {name}, {time.monotonic() - begun:.0f} s: {last[:150]}", flush=True)

    def save(self) -> None:
        """What has ended, where it is fetched from."""
        found = {
            "name": "cheaper",
            "settings": {"beside": self.given.beside, "set": self.given.set},
            "machine": self.machine,
            "runs": self.ended,
            "failed": self.failed,
        }
        write_json(self.out / FILE, found)


def table(out: Path, folder: Path) -> None:
    """What came back, added to the file of this machine, and the records of runs that a recipe can repeat."""
    found = json.loads((out / FILE).read_text("utf-8"))
    path = folder / "cheaper" / f"{Machine(**found['machine']).slug}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        old = json.loads(path.read_text("utf-8"))
        new = {(run["variant"], run["seed"], run["context"]) for run in found["runs"]}
        kept = [run for run in old["runs"] if (run["variant"], run["seed"], run["context"]) not in new]
        found["runs"] = [*kept, *found["runs"]]
    found["runs"].sort(key=lambda run: (run["context"], FIRST.index(run["variant"]), run["seed"]))
    write_json(path, found)
    print(path)
    for name, one in COMPARED.items():
        for context in CONTEXTS:
            runs = [run for run in found["runs"] if (run["variant"], run["context"]) == (name, context)]
            if runs and one.own is None:
                record = RESULTS / "runs" if folder == RESULTS else folder / "runs"
                print(
                    recorded(
                        runs, record / f"{one.record}{'' if context == CONTEXTS[0] else f'-{context}'}.json"
                    )
                )


def recorded(runs: list[Json], path: Path) -> Path:
    """The record of a recipe with what was set, its runs of before kept."""
    first = runs[0]
    old = json.loads(path.read_text("utf-8"))["runs"] if path.exists() else []
    new = [{key: run[key] for key in KEPT} for run in runs]
    fresh = {run["seed"] for run in new}
    new += [run for run in old if run["seed"] not in fresh]
    said = " ".join(["regard train shakespeare-char", *(f"--set {quoted(one)}" for one in first["set"])])
    found = {
        "recipe": "shakespeare-char",
        **({"set": first["set"]} if first["set"] else {}),
        "command": said,
        "parameters": first["parameters"],
        "note": "beside other trainings on the same GPU, which stood still at times; alone: docs/cheaper.md",
        "model": first["model"],
        "runs": sorted(new, key=lambda run: run["seed"]),
    }
    path.parent.mkdir(exist_ok=True)
    write_json(path, found)
    return path


def _signal(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    """To a process and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, what)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("pack", "train", "table"))
    parser.add_argument("what", type=Path, help="the folder of the text, or of what came back")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, help="where results go; of table, the folder of the records")
    parser.add_argument("--work", type=Path, default=Path("/tmp/cheaper-work"))
    parser.add_argument("--minutes", type=float, default=9.2)
    parser.add_argument("--beside", type=int, default=4, help="processes at a time")
    parser.add_argument("--groups", default="abc", help="a: one seed of all, b: more seeds, c: longer")
    parser.add_argument("--first", nargs="+", default=FIRST, choices=FIRST, help="what group a trains")
    parser.add_argument("--bring", help="whose weights come back, such as dialogue-ours-0")
    parser.add_argument("--drain", type=float, default=DRAIN)
    parser.add_argument("--set", action="append", default=[], help="for all runs, as of regard train")
    given = parser.parse_args()
    if given.verb == "pack":
        pack(given.what, given.data_dir)
    elif given.verb == "table":
        table(given.what, given.out or RESULTS)
    else:
        shutil.rmtree(given.work, ignore_errors=True)
        for folder in (given.work / "runs", given.work / "quiet", given.out):
            folder.mkdir(parents=True, exist_ok=True)
        given.what, given.work = given.what.resolve(), given.work.resolve()
        Queue(given, on_record()).run()
        print("done", flush=True)


if __name__ == "__main__":
    main()
