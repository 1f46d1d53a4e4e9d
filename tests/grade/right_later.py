"""Right solutions that were once alarms: LayerNorms written by hand, under any names."""

from tests.grade.right_modules import CONV, FUSED, GPT, HEADS, PRE, RAW, SDPA, VIT


def own_norm(gain: str, bias: str, shape: str = "n", first: str = "gain") -> str:
    """A LayerNorm with parameters of these names, in this order."""
    lines = [
        f"self.{gain} = nn.Parameter(torch.ones({shape}))",
        f"self.{bias} = nn.Parameter(torch.zeros({shape}))",
    ]
    one, two = lines if first == "gain" else lines[::-1]
    return f"""
class OwnNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        {one}
        {two}
    def forward(self, z):
        away = z - z.mean(dim=-1, keepdim=True)
        return away / (away.pow(2).mean(dim=-1, keepdim=True) + 1e-5).sqrt() * self.{gain} + self.{bias}
"""


def with_norm(norm: str, *sources: str) -> str:
    """Solutions whose LayerNorms are the one given."""
    return PRE + norm + "".join(sources).replace("nn.LayerNorm(", "OwnNorm(")


# The gains and biases of all layers in two lists, and no module for a norm.
LISTED = FUSED.replace(
    "self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(num_layers)])",
    "self.shifts = nn.ParameterList([torch.zeros(dim) for _ in range(num_layers)])\n"
    "        self.gains = nn.ParameterList([torch.ones(dim) for _ in range(num_layers)])",
).replace("self.norms[i](x)", "(F.layer_norm(x, x.shape[-1:]) * self.gains[i] + self.shifts[i])")
# Beside the parameters of attention, in the layer itself.
INLINE = RAW.replace(
    "m.norm = nn.LayerNorm(dim)", "m.u, m.b = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.ones(dim))"
).replace("m.norm(x)", "F.layer_norm(x, x.shape[-1:], m.b, m.u)")

RIGHT_LATER: dict[str, dict[str, str]] = {
    "transformer": {
        "own norm, g and b": with_norm(own_norm("g", "b"), HEADS),
        "own norm, weight and bias": with_norm(own_norm("weight", "bias"), SDPA),
        "own norm, beta before gamma": with_norm(own_norm("gamma", "beta", first="bias"), FUSED),
        "own norm, a_2 and b_2, raw parameters": with_norm(own_norm("a_2", "b_2"), RAW),
        "own norm, scale and shift with axes": with_norm(own_norm("scale", "shift", "1, 1, n"), HEADS),
        "own norm, in lists": PRE + LISTED,
        "own norm, in the layer itself": PRE + INLINE,
    },
    "vision-transformer": {"own norm": with_norm(own_norm("g", "b"), SDPA, CONV, VIT)},
    "dialogue-gpt": {"own norm": with_norm(own_norm("shift", "scale", first="bias"), HEADS, GPT)},
}  # fmt: skip
