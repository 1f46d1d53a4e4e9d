"""`regard generate FOLDER` for folders that transformers wrote: tokens, text, speed and faults."""

import json

import pytest
import torch
import typer

from regard.cli.cost import cost
from regard.cli.generate import generate
from regard.train import open_run

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

TEXT = "But soft, what light through yonder window breaks? It is the east, and Juliet is the sun.\n"
app = typer.Typer(pretty_exceptions_enable=False)
app.command()(generate)
app.command()(cost)
SIZES = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SCALED = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 10_000.0}  # fmt: skip


def a_tokenizer(begins):
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    library.train_from_iterator([TEXT], trainer)
    if begins:
        library.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=library, bos_token="<s>", eos_token="</s>", clean_up_tokenization_spaces=False
    )


def a_folder(path, kind):
    torch.manual_seed(1)
    ends = {"bos_token_id": 0, "eos_token_id": 1}
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=300, n_positions=128, n_embd=32, n_layer=2, n_head=4, **ends
        )
        model = transformers.GPT2LMHeadModel(config)
    else:
        config = transformers.LlamaConfig(
            **SIZES, intermediate_size=64, num_key_value_heads=2, max_position_embeddings=128,
            rope_parameters=SCALED, **ends,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4) if weight.ndim > 1 else weight.add_(0.1)
    model.eval().save_pretrained(path)
    a_tokenizer(kind == "llama").save_pretrained(path)
    return model


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_greedy_text_is_that_of_transformers(kind, tmp_path, capsys):
    """RMSNorm, SwiGLU, scaled rotary and grouped heads without biases, or GPT-2's; with tokens to begin."""
    model, theirs = a_folder(tmp_path, kind), transformers.AutoTokenizer.from_pretrained(tmp_path)
    for prompt in ("But soft", "what light <s> of ö"):
        ids = theirs(prompt, return_tensors="pt").input_ids
        found = model.generate(ids, max_new_tokens=40, do_sample=False)
        run = open_run(tmp_path, writes=True)
        asked = run.prompt(prompt, 40)
        assert list(asked.ids) == ids[0].tolist()
        ours = list(run.tokens(asked, run.sampling(temperature=0.0)))
        new = found[0, ids.shape[1] :].tolist()
        assert ours == (new[: new.index(1)] if 1 in new else new)
        app(["generate", str(tmp_path), "--prompt", prompt, "--tokens", "40", "--temperature", "0"],
            standalone_mode=False)  # fmt: skip
        text = theirs.decode(found[0], skip_special_tokens=True)
        shown = text.rstrip("\N{REPLACEMENT CHARACTER}")  # halves of characters wait for the rest
        assert capsys.readouterr().out == shown + "\n"
    choice = run.gpt.decoding()
    assert choice.impl == "lean"


def test_a_stream_ends_with_its_speed_and_a_price_predicts_it(tmp_path, capsys):
    a_folder(tmp_path, "llama")
    app(["generate", str(tmp_path), "--prompt", "But", "--tokens", "30", "--temperature", "0", "--stream"],
        standalone_mode=False)  # fmt: skip
    told = capsys.readouterr()
    assert "30 tokens, " in told.err
    assert " a second by lean: " in told.err
    assert "% of the floor, at least " in told.err
    app(["cost", str(tmp_path), "--tokens", "33", "--decode", "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)["decoding"]
    weights = sum(x.nbytes for x in open_run(tmp_path, writes=True).model.parameters())
    each = found["this machine"]["bytes_a_token"]
    assert 0.75 * weights < each < 1.2 * weights  # the embedding is looked up, and there is a cache
    here = found["this machine"]
    assert here["tokens_a_second"] == pytest.approx(here["bandwidth"] / each)
    assert found["an H200"]["bandwidth"] == 4.3e12
    app(["cost", str(tmp_path), "--tokens", "33", "--decode"], standalone_mode=False)
    assert "on this machine: at least " in capsys.readouterr().out


def test_faults(tmp_path):
    a_folder(tmp_path / "bare", "gpt2")
    (tmp_path / "bare" / "tokenizer.json").rename(tmp_path / "kept.json")
    with pytest.raises(
        ValueError, match=r"bare has no tokenizer.json, so no text can be read; write it there"
    ):
        open_run(tmp_path / "bare", writes=True)
    (tmp_path / "bare" / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer.json cannot be read: "):
        open_run(tmp_path / "bare", writes=True)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=8,
        patch_size=4,
    )  # fmt: skip
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    with pytest.raises(ValueError, match="vit holds a ViT of transformers; of those, language models alone"):
        open_run(tmp_path / "vit", writes=True)
