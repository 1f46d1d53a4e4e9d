"""Parquet and saved data sets through pyarrow, and what is said where it is not installed."""

import json
import sys

import pytest

from regard.data import load


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"pip install .*\[tables\]"):
        load(tmp_path / "r.parquet")


def rows(count=40):
    return {"text": [f"text {i}" for i in range(count)], "label": [i % 2 for i in range(count)]}


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow.table(rows()), tmp_path / "r.parquet")
    found = load(tmp_path / "r.parquet")
    assert found.classes == ("0", "1")
    assert len(found.train) + len(found.test) == 40
    data = (tmp_path / "r.parquet").read_bytes()
    (tmp_path / "bad.parquet").write_bytes(data[:-30])
    with pytest.raises(ValueError, match="is no whole parquet file"):
        load(tmp_path / "bad.parquet")


def save(folder, count):
    import pyarrow as arrow

    folder.mkdir(parents=True)
    table = arrow.table(rows(count))
    with (
        arrow.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        arrow.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    )
    label = {"names": ["negative", "positive"], "_type": "ClassLabel"}
    features = {"text": {"dtype": "string", "_type": "Value"}, "label": label}
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))


def test_a_saved_data_set(tmp_path):
    pytest.importorskip("pyarrow")
    save(tmp_path / "one", 40)
    found = load(tmp_path / "one")
    assert found.classes == ("negative", "positive")
    save(tmp_path / "both" / "train", 30)
    save(tmp_path / "both" / "test", 10)
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    found = load(tmp_path / "both")
    assert (len(found.train), len(found.test)) == (30, 10)
    (tmp_path / "one" / "data-00000-of-00001.arrow").write_bytes(b"broken")
    with pytest.raises(ValueError, match="cannot be read after row 0"):
        load(tmp_path / "one")
