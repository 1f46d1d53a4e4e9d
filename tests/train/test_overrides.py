from dataclasses import replace

import pytest

from regard.layers import LinearAttention, Rotary, Softmax
from regard.pattern import Causal, Strided
from regard.train import AdamW, Cosine, Linear, Muon, override
from regard.train.overrides import names_of
from regard.train.recipe_data import from_data, to_data
from tests.train import small


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("batch=64", "batch", 64),
        ("model.depth=8", "task.model.depth", 8),
        ("task.model.depth=8", "task.model.depth", 8),
        ("model.pattern=strided(3)", "task.model.pattern", Strided(3)),
        ("model.pattern=strided(3); causal", "task.model.pattern", (Strided(3), Causal())),
        ("model.mixer=LinearAttention", "task.model.mixer", LinearAttention()),
        ("model.mixer=LinearAttention(decay='alibi')", "task.model.mixer", LinearAttention("alibi")),
        ("model.mixer=Softmax; LinearAttention()", "task.model.mixer", (Softmax(), LinearAttention())),
        ("model.position=Rotary(base=500.0)", "task.model.position", Rotary(500.0)),
        ("optimizer.lr=1e-2", "optimizer.lr", 0.01),
        ("optimizer=Muon(lr=0.5)", "optimizer", Muon(lr=0.5)),
        ("schedule=Linear", "schedule", Linear()),
        ("ema=none", "checks.ema", None),
        ("ema=0.5", "checks.ema", 0.5),
        ("tf32=true", "execution.tf32", True),
        ("checks.keep=3", "checks.keep", 3),
        ("execution=Execution(clip=2.0)", "execution.clip", 2.0),
        ("prompt=a = b", "task.prompt", "a = b"),
        ("schedule.warmup=0", "schedule.warmup", 0.0),
    ],
)
def test_any_field(setting, path, value):
    found = override(small.language(), [setting])
    for name in path.split("."):
        found = getattr(found, name)
    assert found == value
    assert type(found) is type(value)


def test_one_limit_replaces_another():
    recipe = override(small.language(), ["minutes=2.5"])
    assert (recipe.steps, recipe.epochs, recipe.minutes) == (None, None, 2.5)
    nested = override(replace(recipe, before=small.language()), ["before.epochs=3"]).before
    assert (nested.steps, nested.epochs, nested.minutes) == (None, 3.0, None)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("modle.depth=8", "Recipe has no field 'modle'; did you mean 'model'?"),
        ("model.dept=8", "GPTConfig has no field 'dept'; did you mean 'depth'?"),
        ("model.depth=eight", "depth must be int, got depth='eight'"),
        ("model.depth=-1", "depth must be at least 0, got depth=-1"),
        ("batch.size=3", "there is no field 'size' in 8"),
        ("tf32=yes", "tf32 must be bool, got tf32='yes'"),
        ("batch", "--set takes path=value"),
        ("optimizer=Adam(lr=1)", "optimizer must be AdamW or Muon, got optimizer='Adam(lr=1)'"),
        ("compile=fast", "compile must be one of auto, none, compile, graph, got compile='fast'"),
        ("model.pattern=strid(3)", "got pattern='strid(3)': no pattern is called 'strid'; did you mean"),
        ("model.pattern=linear", "linear attention is no pattern: a model says mixer=LinearAttention()"),
        ("model.pattern=causal; linear", "linear attention is no pattern: a model says mixer="),
        ("model.mixer=linear", "mixer must be Softmax or LinearAttention or Sequence, got mixer='linear'"),
        ("model.mixer=Softmax; Rotary", "each must be Softmax or LinearAttention, got each='Rotary'"),
        ("accumulate=3", "accumulate must divide batch, got batch=8, accumulate=3"),
    ],
)
def test_what_cannot_be_set(setting, message):
    with pytest.raises(ValueError, match=r"[a-z]") as error:
        override(small.language(), [setting])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["images", "language", "texts"])
def test_a_recipe_is_written_and_read_back(kind):
    recipe = getattr(small, kind)(optimizer=Muon(adam=AdamW(lr=3.0)), schedule=Cosine(floor=0.5))
    assert from_data(to_data(recipe)) == recipe


def test_linear_attention_was_a_pattern():
    settings = ["model.pattern=strided(3); causal", "model.mixer=Softmax; LinearAttention"]
    recipe = override(small.language(), settings)
    data = to_data(replace(recipe, before=recipe))
    for stage in (data, data["before"]):
        model = stage["task"]["model"]
        assert [mixer["part"] for mixer in model.pop("mixer")] == ["Softmax", "LinearAttention"]
        model["pattern"] = [{"pattern": "strided(3)"}, {"pattern": "linear"}]
    assert from_data(data) == replace(recipe, before=recipe)


def test_an_open_vocabulary_was_written_as_1():
    recipe = small.language()
    data = to_data(recipe)
    assert recipe.task.model.vocab is data["task"]["model"]["vocab"] is None
    data["task"]["model"]["vocab"] = 1
    assert from_data(data) == recipe


def test_a_part_keeps_what_a_flat_field_does_not_say():
    data = {"part": "Recipe", "name": "x", "task": None, "batch": 8, "steps": 10, "ema": 0.5}
    parts = {
        "checks": {"part": "Checks", "save_every": 7, "keep": 9},
        "execution": {"part": "Execution", "sharding": "shard"},
    }
    found = from_data(data | parts | {"clip": None})
    assert (found.checks.save_every, found.checks.keep, found.checks.ema) == (7, 9, 0.5)
    assert (found.execution.sharding, found.execution.clip) == ("shard", None)
    for wrong, message in (
        ({"execution": {"part": "Execution", "tf32": "no"}}, "tf32 must be true or false, got 'no'"),
        ({"execution": {"part": "Checks"}}, r"execution must be of Execution, got Checks"),
        ({"optimizer": {"part": "Cosine"}}, r"optimizer must be of AdamW or Muon, got Cosine"),
        ({"checks": 3}, "checks must be a Checks, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            from_data(data | wrong)


def test_a_recipe_of_other_parts_cannot_be_read():
    with pytest.raises(ValueError, match=r"a part must be one of .* got 'Evil'"):
        from_data({"part": "Evil"})
    with pytest.raises(ValueError, match="AdamW has no field speed"):
        from_data({"part": "AdamW", "speed": 3})
    with pytest.raises(ValueError, match="a recipe is needed, got a AdamW"):
        from_data({"part": "AdamW"})


def test_a_recipe_whose_fields_all_stand_at_the_top_is_read_as_one_in_parts():
    """So earlier versions wrote them, first stages too."""
    recipe = small.two_stages(keep=5, clip=None, overfit=3)

    old = small.as_of_old(recipe)
    assert {"ema", "keep", "clip", "overfit"} < set(old)
    assert len(old) == 25
    assert from_data(old) == recipe
    del old["read_every"]  # a field that a still earlier version did not have
    assert from_data(old) == recipe.but(read_every=20)


def test_a_recipe_has_at_most_a_dozen_fields():
    assert len(names_of(small.images())) <= 12
