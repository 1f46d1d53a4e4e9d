"""The tasks that ask for whole models: skeletons, what is free, and what a report shows."""

import pytest
import torch

from regard.course import DialogueGPT, PatchEmbed, Transformer, VisionTransformer
from regard.grade import exercise, get_task, grade
from regard.grade.comparing import same
from regard.grade.tasks.generating import known_logits, written_on
from regard.grade.tasks.heat import heat_map
from regard.probe.maps import AttentionMaps, mean_attention, patch_map
from tests.grade.right_modules import (
    BERT_PACKED,
    CALL,
    CONV,
    FUSED,
    GPT,
    HEADS,
    HEAT,
    PRE,
    RIGHT_MODULES,
    VIT,
)


@pytest.mark.parametrize("task", RIGHT_MODULES)
def test_a_skeleton_is_not_done(task, sandbox):
    report = grade(task, exercise(task), sandbox=sandbox)
    assert report.points < report.most
    assert "not-done" in {one.name for one in report.mistakes}, str(report)


@pytest.mark.parametrize(
    ("task", "made", "sizes", "inputs"),
    [
        ("patch-embed", PatchEmbed, (6, 2, 2, 5), torch.randn(2, 2, 6, 6)),
        ("transformer", Transformer, (6, 4, 11, 3, 2), torch.randn(2, 5, 6)),
        ("vision-transformer", VisionTransformer, (2, 5, 6, 2, 6, 4, 11, 3, 2), torch.randn(2, 2, 6, 6)),
        ("dialogue-gpt", DialogueGPT, (13, 7, 6, 4, 11, 3, 2), torch.randint(0, 13, (2, 7))),
    ],
)
def test_definitions_agree_with_the_textbook(task, made, sizes, inputs):
    """The definitions that students are held against give what regard.course gives, for its weights."""
    from regard.grade.task import Case

    model = made(*sizes)
    found, guest = get_task(task), Textbook(model)
    observed = found.observe(guest)
    assert observed.candidates
    want = model(inputs)
    want = want[0] if isinstance(want, tuple) else want
    fitting = [
        one
        for one in observed.candidates
        if same(next(iter(found.predict(one, Case("", "", (inputs,)), {}).values())), want.detach(), 1e-4)
    ]
    assert fitting


class Textbook:
    """Stands in for a student, with one model made already."""

    seed = 0

    def __init__(self, model):
        self.model, self.guest = model.eval(), self

    def need(self, *names):
        return names[0]

    def generator(self, salt=0):
        return torch.Generator().manual_seed(salt)

    def make(self, name, *args):
        return self.model

    def build(self, name, *args):
        return self.model, self.weights(self.model)

    def weights(self, made):
        from regard.grade.guest.serving import Server
        from regard.grade.student import Student

        asked = type("Asked", (), {"ask": lambda _, request: Server._weights(ToServer(made), request)})
        return Student.weights(Student(asked(), 0), made)

    def call(self, made, *inputs, named=None, seed=0):
        with torch.no_grad():
            return made(*inputs, **(named or {}))

    def get(self, made, name):
        return getattr(made, name)

    def stuck(self, *given):
        return []


class ToServer:
    def __init__(self, model):
        self.model = model

    def _target(self, request):
        return self.model


def test_the_heat_map_is_that_of_probe():
    alphas = torch.randn(2, 3, 2, 10, 10).softmax(-1)
    small = patch_map(mean_attention(AttentionMaps(torch.zeros(2, 1), alphas, "class")), (3, 3))
    assert torch.allclose(heat_map(alphas, 6), small.repeat_interleave(2, 1).repeat_interleave(2, 2))


def test_known_logits_have_no_ties_and_look_back_alone():
    ids = torch.randint(0, 11, (20, 10))
    logits = known_logits(ids)
    assert all(len(row.unique()) == 11 for row in logits.flatten(0, 1))
    assert torch.equal(known_logits(ids[:, :4]), logits[:, :4])
    assert len(written_on(known_logits, ids[:, :2], 8)[:, 2:].unique()) > 5


def test_generate_shows_tokens(sandbox):
    report = grade(
        "generate", CALL.replace("[:, -1, :]", "[:, 0, :]").join(["import torch\n", ""]), sandbox=sandbox
    )
    text = str(report)
    assert report.mistakes[0].name == "first-logit", text
    assert "input_ids [[" in text
    assert "regard lesson why-generation-is-slow" in text


def test_a_heat_map_is_shown_as_a_grid(sandbox):
    report = grade(
        "heat-map", HEAT["by reshapes"].replace("reshape(-1, g, g)", "reshape(-1, g, g).mT"), sandbox=sandbox
    )
    assert [one.name for one in report.mistakes] == ["grid-transposed"]
    assert report.example is not None
    found, expected = torch.as_tensor(report.example.found), torch.as_tensor(report.example.expected)
    assert torch.allclose(found.float(), expected.mT.float(), atol=1e-5)


def test_a_scaled_heat_map_with_the_patch_size_given_is_right(sandbox):
    source = (
        HEAT["by reshapes"]
        .replace("(alphas, img_size)", "(alphas, img_size, patch_size)")
        .replace("p = img_size // g", "p = patch_size")
    )
    source = source.replace("return a.rep", "a = a / a.amax((1, 2), keepdim=True)\n    return a.rep")
    assert grade("heat-map", source, sandbox=sandbox).right


def test_only_what_is_wrong_costs_points(sandbox):
    report = grade(
        "transformer",
        PRE + HEADS.replace("torch.stack(collected, dim=1)", "torch.stack(collected)"),
        sandbox=sandbox,
    )
    assert [one.name for one in report.mistakes] == ["weights-layers-first"]
    assert {part.name: part.points for part in report.parts}["without a mask"] == 2
    assert report.points == report.most - 1


def test_heads_of_another_width_are_noticed(sandbox):
    source = FUSED.replace(
        "self.H, self.h = num_heads, attn_dim",
        "attn_dim = dim // num_heads; self.H, self.h = num_heads, attn_dim",
    )
    assert [one.name for one in grade("transformer", PRE + source, sandbox=sandbox).mistakes] == [
        "attn-dim-ignored"
    ]


def test_mistakes_of_the_inner_transformer_are_found_from_outside(sandbox):
    for task, rest in (("vision-transformer", CONV + VIT), ("dialogue-gpt", GPT)):
        report = grade(
            task, PRE + HEADS.replace("x = self.ffn(x) + x", "x = self.ffn(x)") + rest, sandbox=sandbox
        )
        assert [one.name for one in report.mistakes] == ["residual-ffn-forgotten"], task


def test_an_encoder_that_learns_is_told_by_its_weights(sandbox):
    source = BERT_PACKED.replace("p.requires_grad = False", "p.requires_grad = True")
    report = grade("bert-gru", source, sandbox=sandbox)
    assert [one.name for one in report.mistakes] == ["encoder-not-frozen"]
    assert "table_of_words" in str(report)
