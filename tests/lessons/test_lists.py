"""Shapes and matrices as answers, in every writing."""

import pytest

from regard.lessons import check, get
from regard.lessons.checking.checker import judge

SHAPE = next(e for e in get("weight-sharing").exercises if e.name == "output-shape")
MATRIX = next(e for e in get("weight-sharing").exercises if e.name == "average")


@pytest.mark.parametrize(
    "answer",
    [
        "(32,126,126)", "32,126,126", "[32, 126, 126]", "32x126x126", "32 X 126 X 126", "32 × 126 × 126",
        "32 126 126", "32*126*126", "32 by 126 by 126", "32@126x126", "{32, 126, 126}", "(32; 126; 126)",
        "(1, 32, 126, 126)", "N x 32 x 126 x 126", "torch.Size([32, 126, 126])",
        r"\mathbb{R}^{32 \times 126 \times 126}", r"y \in \mathbb{R}^{32 \times 126 \times 126}",
        "(32, (256-5)//2+1, 126)", r"$32 \times 126 \times 126$.",
    ],
)  # fmt: skip
def test_shapes(answer):
    found = judge(SHAPE, answer)
    assert (found.right, found.says) == (True, "right")


def test_channels_last_are_right_with_a_remark():
    assert judge(SHAPE, "126x126x32").says == "right: with the channels last; torch has them first"
    (found,) = check("weight-sharing", "weight-shape = 5x5x3x32")
    assert found.says == "right: as (rows, columns, in, out); torch has (out, in, rows, columns)"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("(126, 32, 126)", "wrong: the numbers are right, and their order is not"),
        ("(32, 126, 127)", "wrong: side 3 is not 127"),
        ("32 x 126", "wrong: a shape of 3 sides is asked for, this is a shape of 2 sides"),
        ("508032", "wrong: a shape of 3 sides is asked for, this is one number"),
        ("508,032", "wrong: a shape of 3 sides is asked for, this is a shape of 2 sides"),
    ],
)
def test_wrong_shapes(answer, says):
    assert judge(SHAPE, answer).says == says


@pytest.mark.parametrize(
    "answer", ["", "()", "(a, b, c)", "(32, 126, )n", "(1/0, 1, 1)", "3x" * 80 + "3", "((((("]
)
def test_what_is_no_shape_is_refused(answer):
    with pytest.raises(ValueError, match=r"."):
        judge(SHAPE, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "[[3,4],[6,7]]", "[[3, 4], [6, 7]]", "((3,4),(6,7))", "3 4; 6 7", "3,4;6,7", "[3 4; 6 7]",
        "(3, 4; 6, 7)", "{{3,4},{6,7}}", "3 4\n6 7", "[[3 4]\n [6 7]]", "[[3,4],\n[6,7]]", "[3,4],[6,7]",
        "np.array([[3,4],[6,7]])", "[[3.0,4],[6,14/2]]", r"\begin{pmatrix}3&4\\6&7\end{pmatrix}",
        r"\begin{bmatrix} 3 & 4 \\ 6 & 7 \\ \end{bmatrix}",
        r"\left(\begin{array}{cc}3&4\\6&7\end{array}\right)", r"\begin{matrix}3&4\\6&7\end{matrix}",
        r"Y = \begin{bmatrix}\frac{12}{4} & 4 \\ 6 & 7\end{bmatrix}",
        r"$$\begin{pmatrix}3&4\\6&7\end{pmatrix}$$",
    ],
)  # fmt: skip
def test_matrices(answer):
    assert judge(MATRIX, answer).right


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("[[3,4],[6,8]]", "wrong: row 2, column 2 is not 8"),
        ("[3,4,6,7]", "wrong: a 2×2 matrix is asked for, this is a 1×4 matrix"),
        ("[[3,4],[6]]", "wrong: a 2×2 matrix is asked for, this is no matrix"),
        ("[[4,3],[6,7]]", "wrong: the numbers are right, and their order is not"),
    ],
)
def test_wrong_matrices(answer, says):
    assert judge(MATRIX, answer).says == says
