"""Work that ends: a process is told to stop, and ended where it does not."""

import asyncio
import io
import json
import os
import signal
import struct
import subprocess
import sys

import pytest

from regard.studio import limits
from regard.studio.limits import FieldError
from regard.studio.work import BusyError, Workers
from tests.studio.conftest import in_a_thread

# Minutes of sympy and of counting, each of which a limit is too late to see.
SLOW = {
    "pattern": "randomblocks(16, 97, 7) | randomblocks(17, 101, 7) | randomblocks(18, 103, 7)",
    "n": 65_536,
}
QUICK = {"pattern": "strided(5)", "n": 30}


async def first(workers, name, fields, **more):
    return [part async for part in workers.ask(name, fields, **more)]


async def settled(workers):
    while workers.closing:
        await asyncio.wait(workers.closing)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_one_process_answers_one_question_after_another_and_is_stopped():
    async def story():
        workers = Workers(1)
        try:
            (said,) = await first(workers, "patterns/count", QUICK)
            assert b'"pairs":165' in said
            await settled(workers)
            (worker,) = workers.idle
            with pytest.raises(FieldError, match="no pattern is called 'nonsense'") as refused:
                await first(workers, "patterns/count", {"pattern": "nonsense", "n": 3})
            assert (refused.value.field, "\n" in str(refused.value)) == ("pattern", False)
            with pytest.raises(FieldError, match=r"this was stopped after 0\.5 seconds"):
                await first(workers, "patterns/count", SLOW, seconds=0.5)
            await settled(workers)
            leaving = asyncio.create_task(first(workers, "patterns/count", SLOW))
            await asyncio.sleep(0.3)
            leaving.cancel()  # the visitor goes
            with pytest.raises(asyncio.CancelledError):
                await leaving
            assert b'"pairs":165' in (await first(workers, "patterns/count", QUICK))[0]
            await settled(workers)
            assert len(workers.idle) == 1
            assert worker.process.pid != os.getpid()
            os.kill(workers.idle[0].process.pid, signal.SIGKILL)
            await workers.idle[0].process.wait()
            assert b'"pairs":165' in (await first(workers, "patterns/count", QUICK))[0]  # by another
            await settled(workers)
            pid = workers.idle[0].process.pid
        finally:
            await workers.close()
        assert gone(pid)

    in_a_thread(story())


def test_too_many_are_told_to_come_again(monkeypatch):
    async def story():
        monkeypatch.setattr(limits, "WAITING", 1)
        workers = Workers(1)
        try:
            tasks = [asyncio.create_task(first(workers, "patterns/count", QUICK)) for _ in range(3)]
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(one) for one in done].count(BusyError) == 1, done
        finally:
            await settled(workers)
            await workers.close()

    in_a_thread(story())


LATE = """
import os, signal
from regard.studio import worker

def tell(*frame, told=worker._tell):
    told(*frame)
    os.kill(os.getpid(), signal.SIGUSR1)

worker._tell = tell
worker.main()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there are no such signals here")
def test_who_leaves_as_the_answer_comes_spoils_no_other_answer():
    """A stop that comes too late is one frame, not two: the next question would be answered by the second."""
    counted = {"pattern": "causal", "n": 4}
    asked = [
        ("patterns/count", QUICK), ("lessons/lesson", {"lesson": "rnn-recurrences"}),
        ("patterns/count", counted), ("patterns/count", {"pattern": "nonsense", "n": 4}),
    ]  # fmt: skip
    sent = b"".join(struct.pack("!I", len(one)) + one for one in (json.dumps(two).encode() for two in asked))
    command = [sys.executable, "-c", LATE]
    done = subprocess.run(command, input=sent, capture_output=True, check=True)
    said, frames = io.BytesIO(done.stdout), []
    while head := said.read(5):
        frames.append((head[:1], said.read(struct.unpack("!I", head[1:])[0])))
    assert [kind for kind, _ in frames] == [b"R", b"A", b"P", b"S", b"A", b"W"]
    assert b'"pairs":165' in frames[1][1]
    assert b'"pairs":10' in frames[4][1]
