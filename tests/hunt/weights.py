"""Configs of transformers at random, and each field changed: equal logits, or refused by name."""

import random
import tempfile

import torch

from tests.hunt.found import Found


def hunt(times: int, seed: int) -> Found:
    """Every try is one tiny model of one family with a few fields changed."""
    import transformers

    from tests.models.huggingface import zoo

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    found, dice = Found(), random.Random(seed)
    known = zoo.cases(zoo.DECODERS) + zoo.cases(zoo.ENCODERS) + zoo.cases(zoo.IMAGES)
    for i in range(times):
        family, kind, config, changes = dice.choice(known)
        others = [one[3] for one in known if one[1] == kind]
        mixed = {**changes, **dict(dice.sample(sorted(_pool(others).items()), k=min(2, len(_pool(others)))))}
        case = (family, kind, config, mixed)
        try:
            settings = zoo.config_of(*case).to_dict()
            name = dice.choice(sorted(settings))
            asked = _other(settings[name], dice)
            if asked is not None and name != "output_attentions" and dice.random() < 0.7:
                mixed[name] = asked
            theirs = zoo.made(case, seed=i)
            x = _inputs(theirs.config)
            theirs(x)
        except Exception:
            found.add("not a config of theirs")
            continue
        try:
            fault = _compare(theirs, x)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault is None:
            found.add("equal")
        elif fault.startswith("refused"):
            found.add("refused")
        else:
            found.add("wrong", f"{kind} {mixed}: {fault}")
    return found


def _pool(changes: list[dict]) -> dict:
    return {name: value for one in changes for name, value in one.items()}


def _other(value: object, dice: random.Random) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice([1, 2, 3, 4, 6, 8, 12])
    if isinstance(value, float):
        return dice.choice([0.0, 0.25, 0.5, 1.0, 2.0, 1e-3])
    if isinstance(value, str):
        return dice.choice(["gelu", "silu", "gelu_new", "relu", "gelu_pytorch_tanh"])
    return None


def _compare(theirs: torch.nn.Module, x: torch.Tensor) -> str | None:
    """None where the logits agree both ways, else what is wrong; a refusal begins with that word."""
    from regard.models import from_huggingface, to_huggingface

    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(f"{folder}/theirs")
        try:
            ours = from_huggingface(f"{folder}/theirs")
        except ValueError as error:
            return f"refused: {error}" if "\n" not in str(error) else f"in many lines: {error}"
        to_huggingface(ours, f"{folder}/ours", like=f"{folder}/theirs")
        back = type(theirs).from_pretrained(f"{folder}/ours").eval()
        back.set_attn_implementation(theirs.config._attn_implementation)
    with torch.no_grad():
        want, again = (model(x, return_dict=True) for model in (theirs, back))
        said, told = ((one.logits if "logits" in one else one.pooler_output) for one in (want, again))
        got = ours(x)
    most = 1e-5 * max(1.0, float(said.abs().max()))
    worst = max(float((got - said).abs().max()), float((told - said).abs().max()))
    if worst <= most or _rounded(theirs, x, got, said):
        return None
    return f"off by {worst:.2e} of {float(said.abs().max()):.2e}"


@torch.no_grad()
def _rounded(theirs: torch.nn.Module, x: torch.Tensor, got: torch.Tensor, said: torch.Tensor) -> bool:
    """Whether ours are as near to the logits in doubles as theirs: twice their error at most."""
    if x.is_floating_point():
        x = x.double()
    exact = theirs.double()(x, return_dict=True)
    want = exact.logits if "logits" in exact else exact.pooler_output
    return bool((got - want).abs().max() <= 2 * (said - want).abs().max())


def _inputs(settings: object) -> torch.Tensor:
    """Two pictures, or two texts without padding."""
    from tests.models.huggingface import zoo

    if hasattr(settings, "image_size"):
        return torch.randn(2, settings.num_channels, settings.image_size, settings.image_size)
    x = zoo.tokens(2, 11, max(settings.vocab_size, 3)) % settings.vocab_size
    pad = -1 if settings.pad_token_id is None else settings.pad_token_id
    return torch.where(x == pad, (x + 1) % settings.vocab_size, x)
