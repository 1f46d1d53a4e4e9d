"""Heads that compute the right values and learn nothing, and other things that values alone do not show."""

import pytest

from regard.grade import grade
from tests.grade.right import MANY, RIGHT

PLAIN = RIGHT["attention-head"]["plain"]
LAYERS = (
    "self.q, self.k, self.v = nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden), nn.Linear(dim, n_hidden)"
)
MADE = "self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(self.n)"
STORED = """
    def __init__(self, dim, n_hidden, num_heads):
        super().__init__()
        self.maps = nn.Parameter(torch.randn(3, num_heads, dim, n_hidden))
        self.out = nn.Linear(num_heads * n_hidden, dim)
    def forward(self, x, attn_mask=None):
        q, k, v = torch.einsum('bti,phio->pbhto', x, self.maps)
        s = torch.einsum('bhqo,bhko->bhqk', q, k) * q.shape[-1] ** -0.5
        if attn_mask is not None:
            s = s.masked_fill((attn_mask if attn_mask.dim() == 2 else attn_mask[:, None]) == 0, -1e30)
        a = s.softmax(-1)
        y = torch.einsum('bhqk,bhko->bqho', a, v).flatten(2)
        return self.out(y), a
"""
UNREGISTERED = STORED.replace("self.out = nn.Linear(", "self.outs = [nn.Linear(").replace(
    "n_hidden, dim)\n    def", "n_hidden, dim)]\n    def"
)


def edited(source, *edits):
    for there, put in edits:
        assert there in source, there
        source = source.replace(there, put)
    return source


HEADS = {
    "tensors that are no parameters": (
        "nothing-learned",
        edited(PLAIN, (LAYERS, "self.w = torch.randn(3, dim, n_hidden); self.q, self.k, self.v = (lambda x, w=w: x @ w for w in self.w)")),
    ),
    "layers in a dict": (
        "nothing-learned",
        edited(PLAIN, (LAYERS, "self.all = {n: nn.Linear(dim, n_hidden) for n in 'qkv'}"), (MADE, "self.all['q'](x) @ self.all['k'](x).mT / math.sqrt(self.n)"), ("self.v(x)", "self.all['v'](x)")),
    ),
    "no projections": (
        "nothing-learned",
        edited(PLAIN, (LAYERS, ""), (MADE, "x @ x.mT / math.sqrt(self.n)"), ("self.v(x)", "x[..., :self.n]")),
    ),
    "queries that are zero": (
        "weights-constant",
        edited(PLAIN, (LAYERS, "self.v = nn.Linear(dim, n_hidden)"), (MADE, "torch.zeros_like(x) @ self.v(x).new_ones(x.mT.shape)")),
    ),
    "weights before the output": ("outputs-swapped", edited(PLAIN, ("return a @ self.v(x), a", "return a, a @ self.v(x)"))),
    "values in a list, and a layer left over": (
        "weights-not-registered weights-idle",
        edited(PLAIN, ("self.n = n_hidden", "self.n = n_hidden; self.vs = [nn.Linear(dim, n_hidden)]"), ("self.v(x)", "self.vs[0](x)")),
    ),
}  # fmt: skip
MANIES = {
    "W_O in a list": (
        "weights-not-registered",
        MANY + edited(UNREGISTERED, ("self.out(y)", "self.outs[0](y)")),
    ),
    "averaged weights": (
        "weights-averaged",
        MANY + edited(STORED, ("return self.out(y), a", "return self.out(y), a.mean(1)")),
    ),
    "averaged by torch": (
        "weights-averaged",
        RIGHT["multi-headed-attention"]["nn.MultiheadAttention"].replace(", average_attn_weights=False", ""),
    ),
    "weights first": (
        "outputs-swapped",
        MANY + edited(STORED, ("return self.out(y), a", "return a, self.out(y)")),
    ),
    "W_O never used": ("output-map-cut", MANY + edited(STORED, ("self.out(y)", "y[..., :x.shape[-1]]"))),
    "one head for all": (
        "heads-share-weights",
        MANY
        + edited(
            STORED,
            ("torch.randn(3, num_heads,", "torch.randn(3, 1,"),
            ("x, self.maps", "x, self.maps.expand(-1, self.out.in_features // self.maps.shape[-1], -1, -1)"),
        ),
    ),
    "the scale of all heads": (
        "scale-of-all-heads",
        MANY + edited(STORED, ("q.shape[-1] ** -0.5", "self.out.in_features ** -0.5")),
    ),
}
EVERY = [
    (task, case, *found)
    for task, cases in (("attention-head", HEADS), ("multi-headed-attention", MANIES))
    for case, found in cases.items()
]


@pytest.mark.parametrize(("task", "case", "names", "source"), EVERY, ids=[one[1] for one in EVERY])
def test_what_is_wrong_is_named_alone(task, case, names, source, sandbox):
    report = grade(task, source, sandbox=sandbox)
    assert [one.name for one in report.mistakes] == names.split(), str(report)
    assert report.points < report.most


def test_one_tensor_for_all_maps_is_right(sandbox):
    assert grade("multi-headed-attention", MANY + STORED, sandbox=sandbox).right


def test_a_layer_that_is_never_used_is_said(sandbox):
    source = edited(PLAIN, (LAYERS, f"{LAYERS}; self.more = nn.Linear(dim, n_hidden)"))
    report = grade("attention-head", source, sandbox=sandbox)
    assert report.right
    assert report.notes == ("never used: more.weight",)
