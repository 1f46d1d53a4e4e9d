"""Folders of transformers looked at: their own answers and weights, with a pattern set, or refused."""

import json
import shutil
import sys

import pytest
import torch

from regard.paper.pixels import png
from regard.train import open_run
from regard.train.export import export_huggingface
from tests.train.runs.conftest import draw

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("PIL")

from tests.hub.families import close, made  # noqa: E402 - it needs transformers

WORDS = ["not", "one", "dull", "minute", "the", "king", "is", "dead", "long", "live"]
TEXT = "the king is not dead"


def word_tokenizer(template):
    """One token for a word, and those that a template puts around a text."""
    ids = {word: i for i, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", *WORDS])}
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="[UNK]"))
    library.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    specials = [("[CLS]", 1), ("[SEP]", 2)]
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single=template, special_tokens=specials
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=library, **names)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("folders")
    for name, template in [("llama", "[CLS] $A"), ("gpt2", "$A"), ("bert", "[CLS] $A [SEP]")]:
        made(name).save_pretrained(root / name)
        word_tokenizer(template).save_pretrained(root / name)
    bert = made("bert", num_labels=2, id2label={0: "bad", 1: "good"}, max_position_embeddings=6)
    for name, kind in [("classifier", "BertForSequenceClassification"), ("base", "BertModel")]:
        torch.manual_seed(0)
        getattr(transformers, kind)(bert.config).save_pretrained(root / name)
        word_tokenizer("[CLS] $A [SEP]").save_pretrained(root / name)
    made("vit").save_pretrained(root / "vit")
    export_huggingface(open_run("zoo:digits-vit"), root / "digits")
    return root


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "one.png"
    grey = torch.randint(0, 256, (8, 8, 1), generator=draw()).to(torch.uint8)
    path.write_bytes(png(grey.expand(8, 8, 3).contiguous()))
    return path


def theirs(folder, text, kind="AutoModelForCausalLM"):
    """Logits of the last token, and the weights (L,H,N,M), by transformers alone."""
    model = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager").eval()
    given = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        out = model(**given, output_attentions=True)
    return out, torch.cat(out.attentions)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_language_model_says_what_comes_next(folders, name):
    (found,) = open_run(folders / name).look([TEXT], steps=64).texts
    out, weights = theirs(folders / name, TEXT)
    chances = out.logits[0, -1].softmax(0)
    assert found.probability == pytest.approx(float(chances.max()), rel=1e-4)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders / name)
    assert found.answer in (tokenizer.decode([int(chances.argmax())]), f"token {int(chances.argmax())}")
    assert "".join(found.pieces) == TEXT
    front = 1 if name == "llama" else 0
    row = weights.mean((0, 1))[-1, front:]
    assert close(torch.tensor(found.attention), row / row.mean())
    assert len(found.gradient) == 5


def test_a_hidden_word_is_filled_in(folders):
    run = open_run(folders / "bert")
    (found,) = run.look(["the [MASK] is dead"]).texts
    out, weights = theirs(folders / "bert", "the [MASK] is dead", "AutoModelForMaskedLM")
    assert found.probability == pytest.approx(float(out.logits[0, 2].softmax(0).max()), rel=1e-4)
    row = weights.mean((0, 1))[2, 1:]
    assert close(torch.tensor(found.attention), row[:-1] / row[:-1].mean())
    (none,) = run.look([TEXT]).texts
    assert (none.answer, none.probability, none.gradient) == (None, None, None)
    with pytest.raises(ValueError, match="must fit into 60 tokens, got 72"):
        run.look(["the [MASK] " + "king " * 69])


def test_an_encoder_without_a_head_shows_attention_alone(folders):
    found = open_run(folders / "base").look(["the king is"])
    _, weights = theirs(folders / "base", "the king is", "AutoModel")
    row = weights.mean((0, 1)).mean(0)[1:-1]
    assert close(torch.tensor(found.texts[0].attention), row / row.mean())
    assert found.notices == ("BertModel gives no answer: attention alone",)
    assert json.loads(json.dumps(found.as_dict()))["texts"][0]["answer"] is None
    with pytest.raises(ValueError, match="BertModel names no classes"):
        open_run(folders / "base").predict([TEXT])


def test_a_classifier_of_texts_reads_in_windows(folders):
    run = open_run(folders / "classifier")
    out, _ = theirs(folders / "classifier", "the king", "AutoModelForSequenceClassification")
    (short,) = run.predict(["the king"])
    assert short.probabilities == pytest.approx(
        dict(zip(("bad", "good"), out.logits[0].softmax(0).tolist(), strict=True))
    )
    (long,) = run.predict([TEXT + " long live the king"])
    (look,) = run.look([TEXT + " long live the king"]).texts
    assert long.notice == "the mean of 2 windows"
    assert look.probabilities == pytest.approx(long.probabilities)
    assert look.windows == 2


def test_an_exported_model_of_images_shows_what_ours_shows(folders, image):
    ours = open_run("zoo:digits-vit").look([str(image)], steps=4).images
    found = open_run(folders / "digits").look([str(image)], steps=4, labels=["3"]).images
    assert list(found.maps) == ["attention", "rollout", "gradient"]
    assert close(found.probabilities, ours.probabilities, 1e-4)
    for name in ("attention", "rollout"):
        assert close(found.maps[name], ours.maps[name], 1e-4)
    assert close(found.heads, ours.heads, 1e-4)
    assert found.truth(0) == "3"
    (one,) = open_run(folders / "digits").predict([str(image)])
    assert one.label == ours.classes[int(ours.predicted[0])]


def test_a_pattern_takes_the_place_of_the_models_own(folders):
    run = open_run(folders / "llama").with_pattern("strided(1)")
    found = run.look([TEXT])
    assert [one > 0 for one in found.texts[0].attention] == [False, False, False, True, True]
    assert found.notices == ("its layers look by strided(1)",)
    with pytest.raises(ValueError, match="one for each of the 3 layers, got 2"):
        run.with_pattern(["causal", None])
    with pytest.raises(ValueError, match="digits-vit is a run of Regard"):
        open_run("zoo:digits-vit").with_pattern("causal")


def without(name):
    return lambda folder: (folder / name).unlink()


def headless(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"architectures": ["LlamaForTokenClassification"]})
    )


def strange(folder):
    (folder / "config.json").write_text('{"model_type": "nosuch"}')


@pytest.mark.parametrize(
    ("name", "damage", "why"),
    [
        ("llama", without("tokenizer.json"), "has no tokenizer .* so that no text can be read"),
        ("llama", without("model.safetensors"), "cannot be opened: "),
        ("llama", headless, "lacks the weights score.bias and 1 more of a LlamaForTokenClassification"),
        ("llama", strange, "cannot be opened: .*nosuch"),
        ("vit", lambda folder: None, "has no image processor"),
    ],
)
def test_what_is_missing_is_said_in_one_line(folders, tmp_path, name, damage, why):
    shutil.copytree(folders / name, tmp_path / name)
    damage(tmp_path / name)
    with pytest.raises(ValueError, match=why) as caught:
        open_run(tmp_path / name).look([TEXT if name == "llama" else "x.png"])
    assert "\n" not in str(caught.value)


def test_models_that_take_no_implementation_are_refused(tmp_path):
    config = transformers.MambaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, state_size=2)
    transformers.MambaForCausalLM(config).save_pretrained(tmp_path / "mamba")
    with pytest.raises(ValueError, match="MambaForCausalLM does not let its attention be chosen"):
        open_run(tmp_path / "mamba")
    config = transformers.T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path / "t5")
    with pytest.raises(ValueError, match="T5ForConditionalGeneration has an encoder and a decoder"):
        open_run(tmp_path / "t5")


def test_without_transformers_one_line_says_what_to_install(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"transformers is not installed: pip install .*\[hub\]"):
        open_run(folders / "llama")


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda run: run.look(), "LlamaForCausalLM needs texts to look at"),
        (
            lambda run: run.look([TEXT], labels=["a"]),
            "labels are for images, and LlamaForCausalLM reads texts",
        ),
        (lambda run: run.look([" "]), "text must hold something to read"),
        (lambda run: run.predict([TEXT]), "names no classes"),
        (lambda run: run.generate("the"), "open to be looked at; open_run"),
        (lambda run: run.evaluate(), "on what it should be scored is not known"),
        (lambda run: run.report(), "on what it should be scored is not known"),
        (lambda run: export_huggingface(run, run.folder), "is a folder of transformers already"),
    ],
)
def test_what_such_a_run_cannot_do(folders, ask, why):
    with pytest.raises(ValueError, match=why):
        ask(open_run(folders / "llama"))
