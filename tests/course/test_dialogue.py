"""The dialogue model: causal, bounded by max_N, greedy; and a loss over real targets alone."""

import math

import pytest
import torch
from torch import nn

from regard.course import DialogueDataset, DialogueGPT, DialogueLoss, MyTokenizer
from regard.pattern import Causal


def gpt(**changes):
    sizes = {
        "vocab_size": 11,
        "max_N": 8,
        "dim": 6,
        "attn_dim": 4,
        "mlp_dim": 7,
        "num_heads": 2,
        "num_layers": 2,
    }
    return DialogueGPT(**{**sizes, **changes})


def tokens(generator, *shape):
    return torch.randint(11, shape, generator=generator)


def test_logits_are_put_together_as_the_lecture_says(generator):
    model, ids = gpt().double(), tokens(generator, 3, 5)
    logits, alphas = model(ids, return_attn=True)
    assert logits.shape == (3, 5, 11)
    assert alphas.shape == (3, 2, 2, 5, 5)  # B L H T T
    x = torch.stack(
        [torch.stack([model.tok_E(i) + model.pos_E.weight[t] for t, i in enumerate(row)]) for row in ids]
    )
    x, want_alphas = model.transformer(x, Causal(), return_attn=True)
    norm, linear = model.head
    assert isinstance(norm, nn.LayerNorm)
    assert linear.weight is not model.tok_E.weight
    torch.testing.assert_close(logits, linear(norm(x)), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(alphas, want_alphas, rtol=1e-12, atol=1e-12)


def test_asking_for_attention_changes_nothing_else(generator):
    model, ids = gpt(), tokens(generator, 3, 5)
    quiet, nothing = model(ids)
    assert nothing is None
    assert torch.equal(quiet, model(ids, return_attn=True)[0])


def test_no_logit_sees_the_future(generator):
    model, ids = gpt(), tokens(generator, 2, 8)
    logits, alphas = model(ids, return_attn=True)
    assert (alphas.triu(diagonal=1) == 0).all()
    torch.testing.assert_close(alphas.sum(dim=-1), torch.ones(2, 2, 2, 8))
    for t in range(1, 8):
        changed = ids.clone()
        changed[:, t] = (ids[:, t] + 1) % 11
        after, _ = model(changed)
        assert torch.equal(logits[:, :t], after[:, :t])
        assert (logits[:, t:] != after[:, t:]).any(dim=-1).all()


@pytest.mark.parametrize("length", [0, 9])
def test_lengths_outside_the_table_of_positions_are_refused(length, generator):
    with pytest.raises(ValueError, match=f"input_ids must have from 1 to max_N=8 positions, got {length}"):
        gpt()(tokens(generator, 2, length))


def test_a_model_on_another_device_stays_there():
    logits, alphas = gpt().to("meta")(torch.zeros(2, 5, dtype=torch.long, device="meta"), return_attn=True)
    assert logits.device.type == alphas.device.type == "meta"


def test_generate_appends_the_likeliest_token_again_and_again(generator):
    model, ids = gpt(), tokens(generator, 3, 2)
    got = model.generate(ids, 6)
    assert got.shape == (3, 8)
    assert got.dtype == torch.long
    for row, prompt in zip(got, ids, strict=True):
        want = prompt.tolist()
        for _ in range(6):
            want.append(int(model(torch.tensor([want]))[0][0, -1].argmax()))
        assert row.tolist() == want


def test_generate_leaves_prompt_mode_and_gradients_alone(generator):
    model, ids = gpt(), tokens(generator, 2, 3)
    kept = ids.clone()
    for training in (True, False):
        model.train(training)
        model.transformer.layers[0].eval()  # a mixture must survive as well
        modes = [m.training for m in model.modules()]
        model.generate(ids, 2)
        assert [m.training for m in model.modules()] == modes
    assert torch.equal(ids, kept)
    assert torch.is_grad_enabled()
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(model.generate(ids, 0), ids)


def test_generate_goes_to_max_n_and_not_past_it(generator):
    model = gpt()
    assert model.generate(tokens(generator, 2, 3), 5).shape == (2, 8)
    with pytest.raises(ValueError, match=r"T \+ num_tokens must be at most max_N=8, got 3 \+ 6"):
        model.generate(tokens(generator, 2, 3), 6)
    with pytest.raises(ValueError, match=r"T \+ num_tokens must be at most max_N=8, got 9 \+ 0"):
        model.generate(tokens(generator, 2, 9), 0)


def test_generate_refuses_what_it_cannot_continue(generator):
    with pytest.raises(ValueError, match=r"input_ids must have shape \(B, T\) or \(T\), got \(2, 3, 1\)"):
        gpt().generate(tokens(generator, 2, 3, 1), 1)
    with pytest.raises(ValueError, match="num_tokens must be at least 0, got num_tokens=-1"):
        gpt().generate(tokens(generator, 2, 3), -1)
    with pytest.raises(ValueError, match="positions, got 0"):
        gpt().generate(tokens(generator, 2, 0), 1)


def loss_by_loops(logits, ids, mask):
    terms = []
    for b in range(len(ids)):
        for i in range(ids.shape[1] - 1):
            if mask[b, i + 1]:
                guess = logits[b, i].double()
                terms.append(math.log(sum(math.exp(g) for g in guess.tolist())) - float(guess[ids[b, i + 1]]))
    return sum(terms) / len(terms)


def padded_batch(generator):
    ids = torch.randint(3, 7, (3, 5), generator=generator)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
    ids[:, 0] = 0
    return 2 * torch.randn(3, 5, 7, generator=generator), ids.masked_fill(mask == 0, 1), mask


@pytest.mark.parametrize("dtype", [torch.long, torch.bool, torch.float32])
def test_the_loss_is_the_mean_over_real_targets(dtype, generator):
    """Classic mistakes: logit i against token i, a mean over padding, a mean of the examples' means."""
    logits, ids, mask = padded_batch(generator)
    loss = DialogueLoss()(logits, ids, mask.to(dtype))
    assert loss.shape == ()
    assert float(loss) == pytest.approx(loss_by_loops(logits, ids, mask), rel=1e-6)


def test_a_model_that_knows_the_next_token_has_no_loss():
    ids = torch.tensor([[0, 4, 5, 6]])
    shifted = 100.0 * nn.functional.one_hot(torch.tensor([[4, 5, 6, 0]]), 7)
    unshifted = 100.0 * nn.functional.one_hot(ids, 7)
    assert float(DialogueLoss()(shifted, ids, torch.ones(1, 4))) == 0
    assert float(DialogueLoss()(unshifted, ids, torch.ones(1, 4))) == 100


def test_start_and_padding_are_never_targets(generator):
    logits, ids, mask = padded_batch(generator)
    loss = DialogueLoss()(logits.requires_grad_(), ids, mask)
    loss.backward()
    supervised = (logits.grad != 0).any(dim=-1)
    assert supervised.tolist() == [[True] * 4 + [False], [True] + [False] * 4, [False] * 5]
    other = ids.clone()
    other[:, 0] = 5  # whatever stands at the start or under the padding
    other[mask == 0] = 6
    assert torch.equal(loss, DialogueLoss()(logits, other, mask))


def test_nan_under_the_padding_stays_there(generator):
    logits, ids, mask = padded_batch(generator)
    want = DialogueLoss()(logits, ids, mask)
    spoiled = logits.clone()
    spoiled[1, 1:] = math.nan
    assert torch.equal(want, DialogueLoss()(spoiled, ids, mask))


@pytest.mark.parametrize("mask", [torch.zeros(2, 5), torch.tensor([[1, 0, 0, 0, 0]] * 2)])
def test_a_batch_without_targets_is_an_error_and_not_nan(mask, generator):
    with pytest.raises(ValueError, match=r"inp_mask must mark a token to predict, got none in \(2, 5\)"):
        DialogueLoss()(torch.zeros(2, 5, 7), torch.ones(2, 5, dtype=torch.long), mask)


def test_shapes_that_do_not_fit_are_named():
    ids = torch.zeros(2, 5, dtype=torch.long)
    with pytest.raises(ValueError, match=r"logits must have shape \(B, T, V\) or \(T, V\), got \(7,\)"):
        DialogueLoss()(torch.zeros(7), ids, ids)
    with pytest.raises(ValueError, match=r"input_ids must have shape \(2\), got \(2, 5\)"):
        DialogueLoss()(torch.zeros(2, 7), ids, ids)
    with pytest.raises(ValueError, match=r"input_ids must have shape \(2, 4\), got \(2, 5\)"):
        DialogueLoss()(torch.zeros(2, 4, 7), ids, ids)
    with pytest.raises(ValueError, match=r"inp_mask must have shape \(2, 5\), got \(5,\)"):
        DialogueLoss()(torch.zeros(2, 5, 7), ids, ids[0])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_ids_and_mask_move_to_the_device_of_the_logits(generator):
    logits, ids, mask = padded_batch(generator)
    torch.testing.assert_close(
        DialogueLoss()(logits.cuda(), ids, mask).cpu(), DialogueLoss()(logits, ids, mask)
    )


def test_a_dialogue_is_learnt_by_heart():
    lines = ["who is there ?", "it is the king .", "long live the king !"]
    tokenizer = MyTokenizer(" ".join(lines))
    data = DialogueDataset(tokenizer, lines, max_N=8)
    batch = data.collate_fn(list(data))
    model = gpt(vocab_size=tokenizer.vocab_size, dim=24, attn_dim=12, mlp_dim=48)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        logits, _ = model(batch["input_ids"])
        DialogueLoss()(logits, batch["input_ids"], batch["input_mask"]).backward()
        optimiser.step()
    for line, example in zip(lines, data, strict=True):
        assert tokenizer.decode(model.generate(example[None, :2], len(example) - 2)[0]) == f"<START> {line}"
        prompt = tokenizer.encode(line.split()[0])  # what a student gives it
        assert tokenizer.decode(model.generate(prompt, len(example) - 2)) == f"<START> {line}"
