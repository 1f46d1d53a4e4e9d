"""Folders that are sharded, mixed, broken or hostile: read right, or refused in one line."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from regard.models import GPT, GPTConfig, ViT, ViTConfig, from_huggingface, to_huggingface

safetensors = pytest.importorskip("safetensors.torch")
INDEX = "model.safetensors.index.json"


def small(**changes):
    settings = {"vocab": 31, "context": 12, "depth": 2, "width": 12, "heads": 3}
    return GPT(GPTConfig(**{**settings, **changes})).eval()


@pytest.fixture
def folder(tmp_path):
    """A folder of several shards."""
    to_huggingface(small(), tmp_path / "model", shard_bytes=2000)
    return tmp_path / "model"


def change(folder, edit):
    index = json.loads((folder / INDEX).read_text())
    edit(index)
    (folder / INDEX).write_text(json.dumps(index))


def refused(folder, message):
    with pytest.raises(ValueError, match=message) as found:
        from_huggingface(folder)
    assert "\n" not in str(found.value)


def test_shards_there_and_back(tmp_path):
    model = small()
    for most, count in ((10**9, 1), (5000, None), (1, None)):
        to_huggingface(model, tmp_path / str(most), shard_bytes=most)
        files = list((tmp_path / str(most)).glob("*.safetensors"))
        assert len(files) == count if count else len(files) > 2
        again = from_huggingface(tmp_path / str(most))
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_transformers_reads_our_shards(folder):
    transformers = pytest.importorskip("transformers")
    theirs, found = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    x = torch.arange(10)[None]
    torch.testing.assert_close(theirs.eval()(x).logits, from_huggingface(folder)(x), atol=1e-5, rtol=1e-5)


ELSEWHERE = ["../model.safetensors", "/etc/passwd", "a/b.safetensors", "..\\x.safetensors", "w.bin", ""]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_index_that_points_elsewhere(folder, name):
    change(folder, lambda index: index["weight_map"].update({"transformer.wte.weight": name}))
    refused(folder, "names .* which is no safetensors file beside it")


def test_broken_indexes(folder):
    shards = sorted(folder.glob("*.safetensors"))
    change(folder, lambda index: index["weight_map"].update({"ghost": shards[0].name}))
    refused(folder, "lacks what the index says it holds: ghost")
    change(folder, lambda index: index["weight_map"].pop("ghost"))
    name = "transformer.h.0.ln_1.weight"
    place = json.loads((folder / INDEX).read_text())["weight_map"][name]
    change(folder, lambda index: index["weight_map"].pop(name))
    refused(folder, f"the index does not place there: {name}")
    change(folder, lambda index: index["weight_map"].update({name: place}))
    shards[-1].rename(folder / "other")
    refused(folder, f"names {shards[-1].name}, which is not there")
    (folder / "other").rename(shards[-1])
    shards[-1].write_bytes(shards[-1].read_bytes()[:-7])
    refused(folder, "is no whole safetensors file")
    for text in ("{", "[]", "{}", '{"weight_map": [1]}', '{"weight_map": {"a": 1}}'):
        (folder / INDEX).write_text(text)
        refused(folder, r"is no JSON|must hold an object|needs a weight_map")


def test_types_are_mixed_as_transformers_does(tmp_path):
    to_huggingface(small(), tmp_path / "m")
    weights = safetensors.load_file(tmp_path / "m" / "model.safetensors")
    mixed = {n: w.to(torch.bfloat16) if i % 2 else w for i, (n, w) in enumerate(weights.items())}
    safetensors.save_file(mixed, tmp_path / "m" / "model.safetensors")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    for said, want in (("bfloat16", torch.bfloat16), ("torch.float16", torch.float16), (None, torch.float32)):
        (tmp_path / "m" / "config.json").write_text(json.dumps({**config, "dtype": said}))
        assert {w.dtype for w in from_huggingface(tmp_path / "m").parameters()} == {want}
    safetensors.save_file({n: w.to(torch.int8) for n, w in weights.items()}, tmp_path / "m/model.safetensors")
    refused(tmp_path / "m", r"weights of type int8 \(quantised\?\) are not read")


def test_rows_that_only_add_up_are_refused(tmp_path):
    """Queries too tall by what the keys are too short fill the same matrix."""
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 31, "hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3}
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, intermediate_size=8))
    theirs.save_pretrained(tmp_path)
    weights = safetensors.load_file(tmp_path / "model.safetensors")
    q, k = (f"model.layers.0.self_attn.{part}_proj.weight" for part in "qk")
    weights[q], weights[k] = torch.randn(14, 12), torch.randn(10, 12)
    safetensors.save_file(weights, tmp_path / "model.safetensors")
    refused(tmp_path, r"of shapes \(14, 12\), \(10, 12\), \(12, 12\) do not go together")
    weights[q] = torch.randn(12, 13)
    safetensors.save_file(weights, tmp_path / "model.safetensors")
    refused(tmp_path, "do not go together")


def test_pickles_are_refused_with_the_reason(folder):
    for path in folder.glob("model*"):
        path.unlink()
    refused(folder, r"needs a model\.safetensors, or a")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04")
    refused(folder, "pickled files can run code and are not read")


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="must be a new or an empty folder"):
        to_huggingface(small(), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_names_of_classes(tmp_path):
    model = ViT(ViTConfig(image=8, patch=4, classes=2, depth=1, width=12, heads=3))
    for i, (names, want) in enumerate([(None, ["0", "1"]), (["cat", "émeu"], ["cat", "émeu"])]):
        to_huggingface(model, tmp_path / str(i), classes=names)
        config = json.loads((tmp_path / str(i) / "config.json").read_text(encoding="utf-8"))
        assert list(config["id2label"].values()) == want
    for names in (["cat"], ["cat", "cat"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="classes must be 2 different names"):
            to_huggingface(model, tmp_path / "new", classes=names)
    with pytest.raises(ValueError, match="but the model has none"):
        to_huggingface(small(), tmp_path / "new", classes=["a"])
    with pytest.raises(
        ValueError, match=r"family must be one of vit, deit, dinov2 for a ViT, got family='bert'"
    ):
        to_huggingface(model, tmp_path / "new", family="bert")
    assert not (tmp_path / "new").exists()


def test_what_lies_beside_the_weights_goes_along(tmp_path, folder):
    kept = {"generation_config.json": b'{"top_k": 3}', "chat_template.jinja": "{{ émeu }}".encode(),
            "tokenizer.json": b"{}", "tokenizer.model": b"\x00\xff"}  # fmt: skip
    for name, data in {**kept, "pytorch_model.bin": b"x", "train.py": b"x"}.items():
        (folder / name).write_bytes(data)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": [2, 7]}))
    to_huggingface(from_huggingface(folder), tmp_path / "out", like=folder)
    found = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {name: found[name] for name in kept} == kept
    assert set(found) == {*kept, "config.json", "model.safetensors"}
    assert json.loads(found["config.json"])["eos_token_id"] == [2, 7]


KILLED = """
import sys, torch
from regard.models import GPT, GPTConfig, to_huggingface
model = GPT(GPTConfig(vocab=20000, context=12, depth=2, width=240, heads=3))
print("go", flush=True)
to_huggingface(model, sys.argv[1], shard_bytes=100_000)
print("done", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
@pytest.mark.parametrize("wait", [0.0, 0.03])
def test_an_export_that_is_killed_leaves_no_folder(wait, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    time.sleep(wait)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    if (tmp_path / "out").exists():
        from_huggingface(tmp_path / "out")
    else:
        assert all(path.name.startswith(".out.") for path in tmp_path.iterdir())
