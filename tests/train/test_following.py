"""A record read while it grows is the record read at once."""

import math

from regard.train.following import Following
from regard.train.metrics import FILE, Metrics, line_of, read_rows


def test_it_goes_on_where_it_stood(tmp_path):
    following = Following(tmp_path)
    following.read()
    assert (following.last, following.kinds) == (0, {})
    path = tmp_path / FILE
    text = "".join(
        line_of({"kind": "train", "step": i, "loss": 1 / i, **({"seconds": i / 2} if i % 3 == 0 else {})})
        for i in range(1, 41)
    )
    for cut in (10, 200, 201, 777, len(text)):  # in the middle of lines, as a reader may find it
        path.write_text(text[:cut])
        following.read()
        whole = [one["step"] for one in read_rows(tmp_path)] if text[cut - 1] == "\n" else None
        assert whole is None or list(following.kinds["train"].steps) == whole
    losses = following.kinds["train"]
    assert losses.points("loss", 100) == [(i, 1 / i) for i in range(1, 41)]
    assert losses.points("seconds", 100) == [(i, i / 2) for i in range(3, 41, 3)]
    assert losses.points("loss", 20)[0] == (2, 0.75)


def test_it_begins_again_with_another_file(tmp_path):
    metrics = Metrics(tmp_path, 0, 0)
    for step in range(1, 11):
        metrics.add("train", step, loss=float(step))
    metrics.add("validation", 10, accuracy=0.5, sample="seven")
    metrics.close()
    following = Following(tmp_path)
    following.read()
    assert (following.last, following.samples) == (10, {10: "seven"})
    again = Metrics(tmp_path, 4, 0)  # a run that goes on from its checkpoint of step 4
    again.close()
    following.read()
    assert (following.last, following.samples) == (4, {})


def test_what_is_damaged_is_counted_and_left_out(tmp_path):
    rows = [{"kind": "train", "step": i, "loss": value} for i, value in ((1, 2.0), (2, math.nan), (3, 4.0))]
    lines = [line_of(row) for row in rows]
    lines.insert(1, lines[0].replace("2.0", "3.0"))  # the checksum no longer fits
    lines.append(line_of({"kind": "train", "step": 10**30, "loss": 1.0}))
    lines.append(line_of({"kind": "train", "step": 4, "loss": 10**400}))
    (tmp_path / FILE).write_bytes("".join(lines).encode() + b'{"kind"')
    following = Following(tmp_path)
    following.read()
    assert following.damaged == 2
    assert following.kinds["train"].points("loss", 10) == [(1, 2.0), (3, 4.0)]


def test_old_records_have_no_checksums(tmp_path):
    (tmp_path / FILE).write_text('{"kind": "train", "step": 1, "loss": 2.0}\n{"kind": "train", "step": 2}\n')
    following = Following(tmp_path)
    following.read()
    assert (following.last, following.damaged) == (2, 0)
