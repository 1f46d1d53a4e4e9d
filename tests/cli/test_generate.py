"""`regard generate` and `regard export`: text, stream, the round trip, and one line for each fault."""

import json
from contextlib import suppress

import pytest
import torch
import typer

from regard.cli.export import export
from regard.cli.generate import generate
from regard.data.tokenizers import BytePairTokenizer, CharTokenizer, WordTokenizer
from regard.files import seal
from regard.layers import Alibi
from regard.models import GPT, GPTConfig, Untied, ViT, ViTConfig, save
from regard.pattern import Strided
from regard.train.runs.language import LanguageRun

TEXT = "But soft, what light through yonder window breaks? It is the east, and Juliet is the sun.\n"
app = typer.Typer(pretty_exceptions_enable=False)
app.command()(generate)
app.command()(export)


def call(*arguments):
    app(args=list(arguments), standalone_mode=False)


def write_run(folder, tokenizer, cut="windows", **fields):
    shape = {"context": 64, "depth": 2, "width": 24, "heads": 3, "head_width": 8} | fields
    config = GPTConfig(vocab=tokenizer.vocab, **shape)
    model = GPT(config, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8) if weight.ndim > 1 else weight.add_(0.1)
    inner = folder / "model"
    inner.mkdir(parents=True)
    save(model, inner / "model.safetensors")
    tokenizer.save(inner)
    (inner / "task.json").write_text(json.dumps({"task": "language", "cut": cut}))
    seal(inner)
    return model


@pytest.fixture
def chars(tmp_path):
    write_run(tmp_path / "chars", CharTokenizer.train([TEXT]))
    return str(tmp_path / "chars")


def test_text_stream_and_json_agree(chars, capsys):
    call("generate", chars, "--prompt", "But s", "--tokens", "20", "--seed", "3")
    text = capsys.readouterr().out
    assert text.startswith("But s")
    call("generate", chars, "--prompt", "But s", "--tokens", "20", "--seed", "3", "--stream")
    assert capsys.readouterr().out == text
    call("generate", chars, "--prompt", "But s", "--tokens", "20", "--seed", "3", "--json")
    assert json.loads(capsys.readouterr().out)["text"] == text.removesuffix("\n")
    call("generate", chars, "--prompt", "But s", "--tokens", "20", "--seed", "4")
    assert capsys.readouterr().out != text


def test_dialogues_begin_with_their_start_token(tmp_path, capsys):
    tokenizer = WordTokenizer.train([TEXT])
    model = write_run(tmp_path / "words", tokenizer, cut="dialogues")
    prompt = torch.tensor([[0, *tokenizer.encode("what light")]])
    want = model.generate(prompt, max_new_tokens=5, stop=[0, 1])[0, 1:].tolist()
    call("generate", str(tmp_path / "words"), "--prompt", "what light", "--tokens", "5", "--temperature", "0")
    out = capsys.readouterr().out.removesuffix("\n")
    assert out == tokenizer.shown([i for i in want if i > 1])
    call("generate", str(tmp_path / "words"), "--prompt", "what lamp", "--tokens", "2")
    assert "1 of 2 tokens of the prompt are unknown" in capsys.readouterr().err


def test_words_are_shown_as_people_write_them(capsys):
    words = [
        "generate",
        "zoo:dialogue",
        "--prompt",
        "ROMEO:",
        "--tokens",
        "60",
        "--seed",
        "1",
        "--temperature",
        "0",
    ]
    call(*words)
    text = capsys.readouterr().out
    assert text.startswith("ROMEO: ")
    assert not set(text.split()) & set(",.:;?!")
    assert "I'll" in text
    call(*words, "--stream")
    assert capsys.readouterr().out == text
    call("generate", "zoo:dialogue", "--prompt", "ROMEO: qwertz asdf yxcv", "--tokens", "2")
    assert "unknown ('qwertz', 'asdf', 'yxcv'): most of it" in capsys.readouterr().err


def test_bytes_arrive_as_whole_characters(tmp_path, capsys):
    write_run(tmp_path / "pairs", BytePairTokenizer.train([TEXT], vocab=262))
    call("generate", str(tmp_path / "pairs"), "--prompt", "löwe", "--tokens", "30", "--stream")
    assert capsys.readouterr().out.startswith("löwe")


def test_unset_tokens_are_what_fits(chars, capsys):
    call("generate", chars, "--prompt", "But s", "--temperature", "0")
    unset = capsys.readouterr().out
    call("generate", chars, "--prompt", "But s", "--temperature", "0", "--tokens", "59")
    assert capsys.readouterr().out == unset


def test_a_stream_that_is_interrupted_ends_its_line(chars, capsys, monkeypatch):
    def interrupted(*_, **__):
        yield "But"
        raise KeyboardInterrupt

    monkeypatch.setattr(LanguageRun, "stream", interrupted)
    with suppress(KeyboardInterrupt, typer.Abort):  # typer has its own ideas of it
        call("generate", chars, "--prompt", "But s", "--stream")
    assert capsys.readouterr().out == "But\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompt", ""], "the prompt has no tokens"),
        (["--prompt", "ÄÖÜ"], "all 3 tokens of the prompt are unknown"),
        (
            ["--prompt", "But", "--tokens", "62"],
            r"end at 64: a prompt of 3 tokens and 62 more .* at most --tokens 61",
        ),
        (["--prompt", "B" * 70], "which leaves no room"),
        (["--prompt", "But", "--tokens", "0"], "tokens must be at least 1, got tokens=0"),
        (["--prompt", "But", "--tokens", "99999999999"], "tokens must be at most 10,000,000"),
        (["--prompt", "But", "--tokens", "3", "--temperature", "-1"], r"temperature=-1\.0"),
        (["--prompt", "But", "--device", "tpu"], "device must be one of cpu, cuda, mps, got device='tpu'"),
    ],
)
def test_one_line_for_each_fault(chars, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        call("generate", chars, *arguments)
    assert "\n" not in str(caught.value)


def test_runs_that_cannot_write(tmp_path):
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "recipe.json").write_text("{}")
    with pytest.raises(ValueError, match="has no model yet"):
        call("generate", str(tmp_path / "unfinished"), "--prompt", "a")
    inner = tmp_path / "vit" / "model"
    inner.mkdir(parents=True)
    save(
        ViT(ViTConfig(image=8, patch=4, channels=1, classes=2, depth=1, width=8, heads=2)),
        inner / "model.safetensors",
    )
    (inner / "task.json").write_text('{"task": "images"}')
    seal(inner)
    with pytest.raises(ValueError, match="is a ViT, which writes no text"):
        call("generate", str(tmp_path / "vit"), "--prompt", "a")


@pytest.mark.parametrize(
    "tokenizer",
    [CharTokenizer.train([TEXT]), BytePairTokenizer.train([TEXT], vocab=270)],
    ids=lambda t: t.kind,
)
@pytest.mark.parametrize("fields", [{}, {"head": Untied(bias=False)}])
def test_exported_runs_generate_the_same_tokens_in_transformers(tokenizer, fields, tmp_path, capsys):
    transformers = pytest.importorskip("transformers")
    model = write_run(tmp_path / "run", tokenizer, **fields)
    call("export", str(tmp_path / "run"), str(tmp_path / "out"), "--to", "huggingface")
    assert "no tokenizer" not in capsys.readouterr().out
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    prompt = "what light\nit is"
    assert theirs(prompt)["input_ids"] == tokenizer.encode(prompt)
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    tokens = torch.tensor([tokenizer.encode(prompt)])
    want = model.generate(tokens, max_new_tokens=20)
    got = peer.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=20, do_sample=False, pad_token_id=1
    )
    assert torch.equal(got, want)
    assert len(want.unique()) > 3
    assert theirs.decode(want[0].tolist(), skip_special_tokens=True) == tokenizer.decode(
        [i for i in want[0].tolist() if i > (1 if tokenizer.unk is None else 2)]
    )


def test_what_transformers_cannot_express_is_named(tmp_path, capsys):
    tokenizer = CharTokenizer.train([TEXT])
    write_run(tmp_path / "run", tokenizer, pattern=Strided(back=3), position=Alibi())
    with pytest.raises(ValueError, match=r"StarCoder2 cannot express position=Alibi\(\)"):
        call("export", str(tmp_path / "run"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    write_run(tmp_path / "words", WordTokenizer.train([TEXT]))
    call("export", str(tmp_path / "words"), str(tmp_path / "out"))
    assert "no tokenizer: transformers has none that reads by word" in capsys.readouterr().out
    with pytest.raises(ValueError, match="must be a new or an empty folder"):
        call("export", str(tmp_path / "words"), str(tmp_path / "out"))
    with pytest.raises(ValueError, match="--to must be one of huggingface, got 'onnx'"):
        call("export", str(tmp_path / "words"), str(tmp_path / "new"), "--to", "onnx")
