"""What the whole folder promises: signatures, size, biases, and torch as its only need."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from regard import course
from regard.errors import how_to_install

STACK = "dim, attn_dim, mlp_dim, num_heads, num_layers"
SIGNATURES = [
    ("AttentionHead", "dim, n_hidden", "x, attn_mask=None"),
    ("MultiHeadedAttention", "dim, n_hidden, num_heads", "x, attn_mask=None"),
    ("FFN", "dim, n_hidden", "x"),
    ("AttentionResidual", "dim, attn_dim, mlp_dim, num_heads", "x, attn_mask"),
    ("Transformer", STACK, "x, attn_mask=None, return_attn=False"),
    ("PatchEmbed", "img_size, patch_size, nin, nout", "img"),
    ("VisionTransformer", f"n_channels, nout, img_size, patch_size, {STACK}", "img, return_attn=False"),
    ("DialogueGPT", f"vocab_size, max_N, {STACK}", "input_ids, return_attn=False"),
    ("DialogueLoss", "args, kwargs", "logits, input_ids, inp_mask"),  # nn.Module's own birth
    ("MyTokenizer", "raw_text", None),
    ("DialogueDataset", "tokenizer, lines, max_N", None),
]


def words(function):
    parameters = inspect.signature(function).parameters.values()
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default}" for p in parameters)


@pytest.mark.parametrize(("name", "birth", "call"), SIGNATURES)
def test_signatures_are_those_of_the_design(name, birth, call):
    kind = getattr(course, name)
    assert words(kind) == birth
    if call is not None:
        assert words(kind.forward) == f"self, {call}"


def test_every_public_name_is_in_the_table():
    assert sorted(course.__all__) == sorted(name for name, _, _ in SIGNATURES)


def test_the_folder_stays_under_400_lines():
    files = Path(course.__file__).parent.glob("*.py")
    assert sum(len(file.read_text().splitlines()) for file in files) < 400


STACKED = {"dim": 6, "attn_dim": 4, "mlp_dim": 10, "num_heads": 3, "num_layers": 2}
MODELS = {  # built inside the tests, where their weights are seeded
    "Transformer": lambda: course.Transformer(**STACKED),
    "VisionTransformer": lambda: course.VisionTransformer(2, 5, 8, 4, **STACKED),
    "DialogueGPT": lambda: course.DialogueGPT(11, 9, **STACKED),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_linear_map_and_norm_has_its_bias(name):
    affine = [m for m in MODELS[name]().modules() if isinstance(m, nn.Linear | nn.Conv2d | nn.LayerNorm)]
    assert affine
    assert all(m.bias is not None for m in affine)


@pytest.mark.parametrize("name", MODELS)
def test_parameter_counts_by_hand(name):
    head = 3 * (6 * 4 + 4)
    attention = 3 * head + (3 * 4 * 6 + 6)
    ffn = 2 * 6 + (6 * 10 + 10) + (10 * 6 + 6)
    stack = 2 * (attention + ffn)
    vit = stack + (2 * 4 * 4 * 6 + 6) + 4 * 6 + 6 + 2 * 6 + (6 * 5 + 5)
    gpt = stack + 11 * 6 + 9 * 6 + 2 * 6 + (6 * 11 + 11)
    by_hand = {"Transformer": stack, "VisionTransformer": vit, "DialogueGPT": gpt}
    # parameters() lists a shared tensor once, so sharing of any kind would make this too small.
    assert sum(p.numel() for p in MODELS[name]().parameters()) == by_hand[name]


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_gets_a_gradient(name, generator):
    inputs = {
        "Transformer": torch.randn(3, 5, 6, generator=generator),
        "VisionTransformer": torch.randn(3, 2, 8, 8, generator=generator),
        "DialogueGPT": torch.randint(11, (3, 9), generator=generator),
    }
    model = MODELS[name]()
    out, _ = model(inputs[name])
    (out * torch.randn(out.shape, generator=generator)).sum().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None, path
        if "W_K.bias" in path:  # adds the same number to a whole row of scores, which softmax takes away
            assert parameter.grad.abs().max() < 1e-5, path
        else:
            assert parameter.grad.abs().max() > 1e-6, path


def test_importing_the_course_does_not_need_nltk():
    hide = "import sys; sys.modules['nltk'] = sys.modules['matplotlib'] = None; import regard.course as c; "
    subprocess.run([sys.executable, "-W", "ignore", "-c", hide], check=True)
    control = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", hide + "c.MyTokenizer('a')"], check=False, capture_output=True
    )
    assert control.returncode == 1
    assert f"ImportError: nltk is not installed: {how_to_install('text')}" in control.stderr.decode()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: course.AttentionHead(0, 4), "dim must be at least 1, got dim=0"),
        (lambda: course.AttentionHead(8, -4), "n_hidden must be at least 1, got n_hidden=-4"),
        (lambda: course.MultiHeadedAttention(8, 4, 0), "num_heads must be at least 1, got num_heads=0"),
        (lambda: course.FFN(8, 2.5), "n_hidden must be an integer, got n_hidden=2.5"),
        (lambda: course.AttentionResidual(8, 4, 0, 2), "n_hidden must be at least 1, got n_hidden=0"),
        (lambda: course.Transformer(8, 4, 16, 2, 0), "num_layers must be at least 1, got num_layers=0"),
        (
            lambda: course.PatchEmbed(10, 4, 3, 8),
            "patch_size must divide img_size, got img_size=10, patch_size=4",
        ),
        (lambda: course.PatchEmbed(8, 0, 3, 8), "patch_size must be at least 1, got patch_size=0"),
        (lambda: course.VisionTransformer(3, 0, 8, 4, 6, 4, 8, 2, 1), "nout must be at least 1, got nout=0"),
        (lambda: course.DialogueGPT(0, 9, 6, 4, 8, 2, 1), "vocab_size must be at least 1, got vocab_size=0"),
        (lambda: course.DialogueGPT(9, 0, 6, 4, 8, 2, 1), "max_N must be at least 1, got max_N=0"),
    ],
)
def test_sizes_are_checked_at_birth(build, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the whole message is compared
        build()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("module", "shape", "message"),
    [
        (course.AttentionHead(8, 4), (3, 7), "x must have shape (B, T, 8) or (T, 8), got (3, 7)"),
        (course.AttentionHead(8, 4), (2, 3, 7), "x must have shape (B, T, 8) or (T, 8), got (2, 3, 7)"),
        (
            course.MultiHeadedAttention(8, 4, 2),
            (1, 2, 3, 8),
            "x must have shape (B, T, 8) or (T, 8), got (1, 2, 3, 8)",
        ),
        (course.FFN(8, 16), (2, 3, 9), "x must have shape (B, T, 8) or (T, 8), got (2, 3, 9)"),
        (course.Transformer(8, 4, 16, 2, 1), (8,), "x must have shape (B, T, 8) or (T, 8), got (8,)"),
        (
            course.PatchEmbed(8, 4, 3, 6),
            (2, 1, 8, 8),
            "img must have shape (B, 3, 8, 8) or (3, 8, 8), got (2, 1, 8, 8)",
        ),
        (
            course.PatchEmbed(8, 4, 3, 6),
            (2, 3, 8, 12),
            "img must have shape (B, 3, 8, 8) or (3, 8, 8), got (2, 3, 8, 12)",
        ),
        (
            MODELS["VisionTransformer"](),
            (3, 8, 8),
            "img must have shape (B, 2, 8, 8) or (2, 8, 8), got (3, 8, 8)",
        ),
        (MODELS["DialogueGPT"](), (2, 9, 1), "input_ids must have shape (B, T) or (T), got (2, 9, 1)"),
        (MODELS["DialogueGPT"](), (), "input_ids must have shape (B, T) or (T), got ()"),
    ],
)
def test_inputs_are_checked_when_called(module, shape, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the whole message is compared
        module(torch.zeros(shape))
    assert str(caught.value) == message


SINGLE = {
    "AttentionHead": (lambda: course.AttentionHead(6, 4), lambda g: torch.randn(5, 6, generator=g)),
    "MultiHeadedAttention": (
        lambda: course.MultiHeadedAttention(6, 4, 3),
        lambda g: torch.randn(5, 6, generator=g),
    ),
    "Transformer": (MODELS["Transformer"], lambda g: torch.randn(5, 6, generator=g)),
    "VisionTransformer": (MODELS["VisionTransformer"], lambda g: torch.randn(2, 8, 8, generator=g)),
    "DialogueGPT": (MODELS["DialogueGPT"], lambda g: torch.randint(11, (7,), generator=g)),
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_example_without_a_batch_is_the_batch_of_it(name, generator):
    build, draw = SINGLE[name]
    model, x = build(), draw(generator)
    how = {} if "Attention" in name else {"return_attn": True}
    alone, batched = model(x, **how), model(x[None], **how)
    for one, many in zip(alone, batched, strict=True):
        torch.testing.assert_close(one, many[0])


def test_one_patch_row_a_loss_and_a_continuation_without_a_batch(generator):
    embed, img = course.PatchEmbed(8, 4, 2, 6), torch.randn(2, 8, 8, generator=generator)
    torch.testing.assert_close(embed(img), embed(img[None])[0])
    model, ids = MODELS["DialogueGPT"](), torch.randint(11, (5,), generator=generator)
    assert torch.equal(model.generate(ids, 3), model.generate(ids[None], 3)[0])
    mask, logits = torch.tensor([1, 1, 1, 1, 0]), model(ids)[0]
    torch.testing.assert_close(
        course.DialogueLoss()(logits, ids, mask),
        course.DialogueLoss()(logits[None], ids[None], mask[None]),
    )


@pytest.mark.parametrize("name", ["AttentionHead", "MultiHeadedAttention", "Transformer"])
@pytest.mark.parametrize("batch", [(), (1,), (3,)])
def test_a_mask_of_one_row_serves_all(name, batch, generator):
    model, x = SINGLE[name][0](), torch.randn(*batch, 5, 6, generator=generator)
    mask = torch.ones(5, 5).tril()
    for one, many in zip(model(x, mask), model(x, mask[None]), strict=True):
        assert (one is None and many is None) or torch.equal(one, many)
    with pytest.raises(ValueError, match=r"attn_mask must have shape \(5, 5\) or \(1, 5, 5\)"):
        model(x, mask.expand(2, 5, 5))


@pytest.mark.parametrize("name", MODELS)
def test_weights_without_biases_load_as_zero_biases(name, generator):
    model = MODELS[name]()
    given = {k: v for k, v in model.state_dict().items() if not k.endswith(("W_Q.bias", "W_O.bias"))}
    assert len(given) < len(model.state_dict())
    model.load_state_dict(given)
    biases = [v for k, v in model.state_dict().items() if k.endswith(("W_Q.bias", "W_O.bias"))]
    assert biases
    assert not any(bias.any() for bias in biases)
    head = course.AttentionHead(6, 4)
    with pytest.raises(RuntimeError, match=r"Missing key.*W_V\.weight"):  # a bias alone may be missing
        head.load_state_dict({k: v for k, v in head.state_dict().items() if "W_V" not in k})
