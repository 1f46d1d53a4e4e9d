"""Every family by Regard is the same model by sdpa (eager where that drops something), at real tokens."""

import pytest
import torch

from regard.hub import use
from regard.pattern import Causal, parse
from tests.hub.families import (
    DECODERS,
    EAGER,
    ENCODERS,
    FAMILIES,
    IMAGES,
    close,
    inputs,
    logits,
    made,
    ours,
    padded,
    pair,
    tokens,
)

TEXTS = [*DECODERS, *ENCODERS]
PATTERNS = ["strided(4) | global(2) & causal", "windowed(4)", "sparsestrided(3) | ~causal"]
LENGTHS = [5, 1, 9]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("B", "T"), [(3, 11), (1, 1), (2, 37)])
def test_the_logits_are_those_of_the_model_itself(name, B, T):
    theirs, mine = pair(name)
    given = inputs(name, B, T)
    assert close(logits(mine, **given), logits(theirs, **given))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", TEXTS)
def test_padding_is_never_seen(name, side):
    theirs, mine = pair(name)
    given = inputs(name, 3, 23)
    mask = padded([23, 1, 12], 23, side)
    real = mask.bool()
    found = logits(mine, **given, attention_mask=mask)
    assert close(found[real], logits(theirs, **given, attention_mask=mask)[real])
    other = torch.where(real, given["input_ids"], 7)
    if name != "roberta":  # which finds its positions by what its tokens are
        assert close(logits(mine, input_ids=other, attention_mask=mask)[real], found[real])


@pytest.mark.parametrize("name", TEXTS)
def test_a_row_of_padding_alone_harms_nobody(name):
    _, mine = pair(name)
    given = inputs(name, 2, 9)
    mask = padded([9, 0], 9, "right")
    found = logits(mine, **given, attention_mask=mask)
    assert found.isfinite().all()
    assert close(found[:1], logits(mine, input_ids=given["input_ids"][:1]))


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "modernbert"])
@pytest.mark.parametrize("pattern", [None, *PATTERNS])
def test_packed_documents_are_each_document_alone(name, pattern):
    mine = ours(made(name))
    use(mine, pattern)
    x, first = tokens(1, sum(LENGTHS)), 2 if name == "roberta" else 0
    positions = torch.cat([torch.arange(first, first + n) for n in LENGTHS])[None]
    want = torch.cat([logits(mine, input_ids=part) for part in x.split(LENGTHS, dim=1)], dim=1)
    assert close(logits(mine, input_ids=x, position_ids=positions), want)
    ones = torch.ones_like(x)
    assert close(logits(mine, input_ids=x, position_ids=positions, attention_mask=ones), want)
    more = torch.cat([x, tokens(1, 3)], dim=1)
    mask = torch.cat([ones, torch.zeros(1, 3, dtype=torch.long)], dim=1)
    positions = torch.cat([positions, torch.full((1, 3), first)], dim=1)
    found = logits(mine, input_ids=more, position_ids=positions, attention_mask=mask)
    assert close(found[:, :-3], want)


def test_documents_that_a_model_does_not_pass_on_are_refused():
    mine = ours(made("modernbert"))
    positions = torch.tensor([[0, 1, 2, 0, 1]])
    for more in ({}, {"attention_mask": torch.ones(1, 5, dtype=torch.long)}):
        with pytest.raises(ValueError, match="ModernBertAttention does not get position_ids from its model"):
            mine(input_ids=tokens(1, 5), position_ids=positions, **more)
    assert close(
        logits(mine, input_ids=tokens(1, 5), position_ids=torch.arange(5)[None]),
        logits(mine, input_ids=tokens(1, 5)),
    )


def test_documents_are_refused_where_states_would_carry_one_into_the_next():
    """What the attention of a hybrid keeps apart, its state spaces would mix."""
    import transformers

    config = transformers.FalconH1Config(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_n_groups=1,
        mamba_d_state=8, mamba_chunk_size=8,
    )  # fmt: skip
    model = transformers.FalconH1ForCausalLM._from_config(config, attn_implementation="regard").eval()
    tokens = torch.arange(9)[None]
    with torch.no_grad():
        model(tokens)
        with pytest.raises(ValueError, match=r"also mixes tokens by mamba_d_ssm, .* a row of its own"):
            model(tokens, position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]]))


def test_a_model_that_computes_with_its_mask_is_told_so():
    import transformers

    config = transformers.BloomConfig(vocab_size=50, hidden_size=32, n_layer=1, n_head=2)
    model = transformers.BloomForCausalLM._from_config(config, attn_implementation="regard")
    with pytest.raises(
        TypeError, match=r"computes with its attention mask \(\+\), .* another implementation"
    ):
        model(torch.arange(5)[None])


def test_padding_inside_a_document_is_refused():
    mine = ours(made("llama"))
    positions, mask = torch.tensor([[0, 1, 2, 3, 0, 1]]), torch.tensor([[1, 1, 0, 1, 1, 1]])
    with pytest.raises(ValueError, match="padding must not stand inside one of the documents"):
        mine(input_ids=tokens(1, 6), position_ids=positions, attention_mask=mask)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ("gemma2", "gpt_oss")])
def test_a_pattern_is_the_dense_mask(name, pattern):
    theirs, mine = pair(name)
    use(mine, pattern)
    value = parse(pattern) & Causal() if name in DECODERS else parse(pattern)
    given = {**inputs(name, 2, 19), "position_ids": torch.arange(2 * (name == "roberta"), 21)[None, :19]}
    assert close(logits(mine, **given), logits(theirs, **given, attention_mask=value.dense(19)[None, None]))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_counts_from_the_first_real_token(pattern, side):
    mine = ours(made("llama"))
    use(mine, pattern)
    x, lengths = tokens(4, 40), [40, 22, 22, 3]
    mask = padded(lengths, 40, side)
    found = logits(mine, input_ids=x, attention_mask=mask)
    for row, n in enumerate(lengths):
        part = slice(0, n) if side == "right" else slice(40 - n, 40)
        assert close(found[row : row + 1, part], logits(mine, input_ids=x[row : row + 1, part]))


@pytest.mark.parametrize("name", FAMILIES)
def test_half_precision_is_as_good_as_their_own(name):
    theirs, mine = pair(name)
    given = inputs(name, 2, 29)
    exact = torch.float if name == "gpt_oss" else torch.double  # its experts take no doubles
    want = logits(theirs.to(exact), **_as(given, exact)).double()
    half = [logits(model.bfloat16(), **_as(given, torch.bfloat16)).double() for model in (theirs, mine)]
    off = [float((one - want).norm()) for one in half]
    assert off[1] <= 2 * off[0]


def _as(given, dtype):
    return {name: x.to(dtype) if x.is_floating_point() else x for name, x in given.items()}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2", "gpt_oss", "bert", "modernbert", "vit"])
def test_gradients_are_theirs_also_with_checkpointing(name, again):
    theirs, mine = pair(name)
    given = inputs(name, 2, 13)
    if name not in IMAGES:
        given["attention_mask"] = padded([13, 6], 13, "right")
    found = []
    for model in (theirs, mine):
        model.train()
        _no_dropout(model)
        if again and model is mine:
            model.gradient_checkpointing_enable()
        said = model(**given).logits
        said = said[given["attention_mask"].bool()] if name not in IMAGES else said
        (said.float() ** 2).mean().backward()
        found.append({one: x.grad for one, x in model.named_parameters() if x.grad is not None})
    assert found[0].keys() == found[1].keys()
    for one, want in found[0].items():
        assert close(found[1][one], want, 1e-4), one


def _no_dropout(model):
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout_prob", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "bert", "vit"])
def test_output_attentions_are_the_weights_of_eager(name):
    mine = ours(made(name))
    theirs = made(name)
    theirs.set_attn_implementation("eager")
    given = inputs(name, 2, 9)
    if name not in IMAGES:
        given["attention_mask"] = padded([9, 4], 9, "right")
    with torch.no_grad():
        found, want = (model(**given, output_attentions=True).attentions for model in (mine, theirs))
    rows = given["attention_mask"].bool() if name not in IMAGES else torch.ones(2, 10, dtype=torch.bool)
    assert len(found) == len(want) > 1
    for one, other in zip(found, want, strict=True):
        assert close(one.transpose(1, 2)[rows], other.transpose(1, 2)[rows])


def test_what_the_interface_does_not_know_is_refused():
    mine = ours(made("llama"))
    with pytest.raises(ValueError, match="does not know wonder, which LlamaAttention passes"):
        mine(input_ids=tokens(1, 5), wonder=3)
    with pytest.raises(ValueError, match="packed in a row are told apart by position_ids"):
        mine(input_ids=tokens(1, 5), cu_seq_lens_q=torch.tensor([0, 2, 5]))


def test_soft_caps_and_sinks_are_not_dropped():
    for name in EAGER:
        theirs, mine = pair(name)
        given = inputs(name)
        theirs.set_attn_implementation("eager")
        want = logits(theirs, **given)
        for module in mine.modules():
            if getattr(module, "attn_logit_softcapping", None):
                module.attn_logit_softcapping = None
            if getattr(module, "sinks", None) is not None:
                module.sinks.data.fill_(-1e9)
        assert not close(logits(mine, **given), want)
