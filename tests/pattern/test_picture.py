import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings

from regard.errors import how_to_install
from regard.paper.ink import MARK, SEEN, UNSEEN
from regard.pattern import Causal, Full, Global, Strided, parse
from regard.pattern.picture import LEVELS, SHADES, caption, shades, shorten, text, ticks, view
from regard.pattern.summary import summarise
from tests.pattern.strategies import cases

SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture: str) -> torch.Tensor:
    """The seen cells of an SVG picture, read back from its strokes."""
    root = ElementTree.fromstring(picture)
    ground = next(rect for rect in root.iter(f"{SVG}rect") if rect.get("fill") == UNSEEN)
    scale = next(g.get("transform") for g in root.iter(f"{SVG}g") if "scale" in g.get("transform", ""))
    dx, dy = map(float, re.findall(r"[\d.]+", scale))
    out = torch.zeros(round(float(ground.get("height")) / dy), round(float(ground.get("width")) / dx))
    for path in root.iter(f"{SVG}path"):
        if path.get("stroke") in SHADES:
            row = col = 0
            for kind, x, y, length in re.findall(r"([Mm])(\d+) ([\d.]+)h(\d+)", path.get("d")):
                row, col = (int(float(y)), int(x)) if kind == "M" else (row, col + int(x))
                out[row, col : col + int(length)] = SHADES.index(path.get("stroke"))
                col += int(length)
    return out


def words(picture: str) -> list[str]:
    return ["".join(part.itertext()) for part in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@settings(max_examples=40)
@given(cases())
def test_the_svg_shows_the_mask(case):
    pattern, n, m = case
    assert torch.equal(drawn(pattern.svg(n, m)) > 0, pattern.dense(n, m))


@pytest.mark.parametrize(("n", "m"), [(4, 4), (64, 64), (512, 512), (6, 16), (3, 500), (1, 1)])
def test_sizes(n, m):
    pattern = parse("sparsestrided(7) | global(2)")
    assert torch.equal(drawn(pattern.svg(n, m)) > 0, pattern.dense(n, m))


def test_the_words_around_it():
    shown = words(Strided(3).svg(16))
    assert shown[0] == "strided(3)"
    assert {"key →", "query ↓", "seen", "not seen", "query = key", "0", "15"} <= set(shown)
    assert shown[-2:] == ["58 of 256 pairs (22.7 %)", "4n − 6 for n > 3, n(n+1)/2 otherwise"]
    assert "10" in words(Strided(3).svg(6, 16))  # ticks are positions, and the first query stands at 10
    assert "0" in words(Strided(3).svg(6, 16))


def test_it_is_self_contained_and_escaped():
    picture = (Causal() & Strided(3)).svg(8)
    assert "causal &amp; strided(3)" in picture
    assert not re.search(r"<script|<image|href|url\(|@import", picture)
    assert picture.count("http") == 1  # the name of the format


def test_three_things_differ_in_grey():
    def grey(colour):
        r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * r + 0.587 * g + 0.114 * b

    levels = sorted(map(grey, (SEEN, UNSEEN, MARK)))
    assert levels[1] - levels[0] > 50
    assert levels[2] - levels[1] > 50
    shades_ = list(map(grey, SHADES))
    assert shades_ == sorted(shades_, reverse=True)
    assert shades_[0] - shades_[1] > 20  # what is hardly seen is not taken for unseen


def test_the_diagonal_is_marked_where_query_is_key():
    root = ElementTree.fromstring(Causal().svg(4, 6))
    dots = [c for g in root.iter(f"{SVG}g") if g.get("fill") == MARK for c in g.iter(f"{SVG}circle")]
    where = [(float(c.get("cx")) // 32, float(c.get("cy")) // 32) for c in dots]
    assert where == [(2, 0), (3, 1), (4, 2), (5, 3)]
    assert "stroke-dasharray" in Causal().svg(200)


def test_tiles_are_shaded_by_what_they_hold():
    shown = view(Strided(100) | Global(3), 1000, 1000)
    assert shown.size == 8
    assert not shown.sampled
    mask = (Strided(100) | Global(3)).dense(1000).float().view(125, 8, 125, 8)
    share = mask.mean((1, 3))
    assert torch.equal(shown.levels == 0, share == 0)
    assert torch.equal(shown.levels == LEVELS, share == 1)
    between = (share > 0) & (share < 1)
    assert (shown.levels[between] / LEVELS - share[between]).abs().max() <= 1 / LEVELS
    assert "share of 8×8 pairs seen, 0 to 1" in words((Strided(100) | Global(3)).svg(1000))


@pytest.mark.parametrize(("n", "m"), [(5000, 5000), (4200, 5001)])
def test_larger_tiles_are_estimated_and_close(n, m):
    pattern = parse("sparsefixed(512, 40) & ~strided(9) | dilated(40, 7)")
    shown = view(pattern, n, m)
    assert shown.sampled
    size = shown.size
    rows, cols = shown.levels.shape
    mask = torch.nn.functional.pad(pattern.dense(n, m).float(), (0, cols * size - m, 0, rows * size - n))
    share = mask.view(rows, size, cols, size).mean((1, 3))
    assert not (shown.levels[share == 0]).any()
    inside = share[:-1, :-1]
    assert (shown.levels[:-1, :-1] / LEVELS - inside).abs().mean() < 0.02
    assert float(((shown.levels[:-1, :-1] == 0) & (inside > 0)).float().mean()) < 0.005


def test_an_svg_stays_small():
    assert len(Causal().svg(512)) < 40_000
    assert len(parse("dilated(255, 2)").svg(512)) < 700_000  # the worst: every other cell
    assert len(parse("randomblocks").svg(1 << 16)) < 60_000


def test_text_grids():
    assert text(torch.tensor([[True, False]])) == "#."
    assert shades(view(Causal(), 8, 8), width=4).split("\n") == ["▓   ", "█▓  ", "██▓ ", "███▓"]
    faint = shades(view(Strided(0), 512, 512), width=32)
    assert len(faint.split("\n")) == 32
    assert faint.split("\n")[3][3] == "░"  # little is not nothing


def test_ticks():
    assert list(ticks(0, 4).items()) == [(0, "0"), (1, "1"), (2, "2"), (3, "3")]
    assert list(ticks(0, 64)) == [0, 8, 16, 24, 32, 40, 48, 56]
    assert list(ticks(0, 65_536).values())[:3] == ["0", "8k", "16k"]
    assert list(ticks(1000, 1100)) == [1008, 1024, 1040, 1056, 1072, 1088]
    assert list(ticks(-2, 2).values()) == ["−2", "−1", "0", "1"]


def test_captions():
    assert caption(summarise(Full(), 3, 5)) == ("15 of 15 pairs (100 %)",)
    assert caption(summarise(parse("windowed(11) | blocks(13)"), 40))[1].endswith("cases: see formula()")
    assert len(shorten("x" * 100)) < 80


def test_long_titles_are_cut_and_kept_for_readers():
    pattern = parse(" | ".join(f"strided({i})" for i in range(30)))
    root = ElementTree.fromstring(pattern.svg(8))
    assert root.find(f"{SVG}title").text.startswith(str(pattern))
    assert words(pattern.svg(8))[0].endswith(" …")


@pytest.mark.parametrize(("n", "m"), [(4, 4), (6, 16), (100, 100), (700, 700), (2, 600)])
def test_the_figure_shows_the_same(n, m, tmp_path):
    pattern = Causal() & Strided(30)
    figure = pattern.figure(n, m)
    (axes,) = figure.axes
    (image,) = axes.images
    assert torch.equal(torch.tensor(image.get_array().data), view(pattern, n, m).levels)
    assert figure.get_suptitle() == "causal & strided(30)"
    assert f"{pattern.pairs(n, m):,} of {n * m:,} pairs" in figure.get_supxlabel()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("key →", "← query")
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5_000


def test_more_queries_than_keys_can_be_drawn():
    assert Full().svg(8, 3)
    assert Full().figure(8, 3)


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from regard.pattern import Causal\n"
        "Causal().svg(4)\n"
        "try: Causal().figure(4)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"matplotlib is not installed: {how_to_install('plot')}"


def test_there_must_be_something_to_draw():
    for call in (Causal().svg, Causal().figure):
        with pytest.raises(ValueError, match="at least one query and one key, got n=0, m=4"):
            call(0, 4)
