import io
import re

import pytest
import torch

from regard.models import GridCompletion, GridCompletionConfig
from regard.paper.figures import themed_svg
from regard.paper.pixels import enlarge, overlay, png, stretch
from regard.probe import (
    check_by_hiding,
    complete_images,
    completion_figure,
    completion_section,
    heads_figure,
    heads_section,
    hiding_figure,
    hiding_section,
    images_figure,
    images_section,
    look_images,
    page,
    position_figure,
    position_similarity,
    save_figure,
    text_figure,
    text_section,
)
from regard.probe.plot_texts import wrapped
from tests.probe.conftest import draw, encoder, gpt, pictures, strong, vit
from tests.probe.test_texts import LOOK

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")


def results(look):
    model = strong(vit())
    labels = torch.arange(5) % 3
    check = check_by_hiding(
        model, look.pictures / 255, labels, look.maps["attention"], generator=draw(), repeats=2
    )
    grid = GridCompletion(GridCompletionConfig(levels=4, hidden=4), generator=draw())
    made = complete_images(grid, torch.randint(4, (12, 5, 7), generator=draw()), generator=draw())
    return check, position_similarity(model), made


def test_every_figure_is_drawn_and_the_same_each_time(look, tmp_path):
    check, positions, made = results(look)
    figures = {
        "images": images_figure(look, "Five"),
        "heads": heads_figure(look, 4),
        "hiding": hiding_figure(check, "A title"),
        "positions": position_figure(positions),
        "text positions": position_figure(position_similarity(encoder())),
        "completion": completion_figure(made, "Twelve"),
        "text": text_figure(LOOK),
    }
    for name, figure in figures.items():
        save_figure(figure, tmp_path / "a.png")
        with Image.open(tmp_path / "a.png") as drawn:
            assert len(drawn.convert("RGB").getcolors(1 << 24)) > 20, name
    for name in ("hiding", "text"):
        for kind in ("png", "svg"):
            for file in ("a", "b"):
                save_figure(figures[name], tmp_path / f"{file}.{kind}")
            assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    with pytest.raises(ValueError, match=r"must end in .png, .svg or .pdf, got 'a.gif'"):
        save_figure(figures["heads"], "a.gif")


@pytest.mark.parametrize("count", [1, 3, 4, 10])
@pytest.mark.parametrize("shape", [(1, 4, 6), (3, 8, 3)])
def test_pictures_are_cells_of_equal_size(count, shape, tmp_path):
    shown = pictures(count, shape)
    model = vit(image=shape[1:], patch=(2, 3), channels=shape[0])
    found = look_images(model, shown / 255, shown, ["a", "b", "c"], steps=1)
    figure = images_figure(found)
    cells = [axes for axes in figure.axes if axes.images]
    assert len(cells) == 4 * count
    sizes = {(round(axes.get_position().width, 6), round(axes.get_position().height, 6)) for axes in cells}
    assert len(sizes) == 1
    wide, high = next(iter(sizes)) * figure.get_size_inches()
    assert wide / high == pytest.approx(shape[2] / shape[1], rel=1e-4)
    boxes = [axes.get_position() for axes in cells]
    for i, a in enumerate(boxes):
        assert 0 <= a.x0 < a.x1 <= 1
        assert 0 <= a.y0 < a.y1 <= 1
        assert not any(a.overlaps(b) for b in boxes[i + 1 :])


def test_labels_say_what_is_right(look):
    words = [axes.get_title(loc="left") for axes in images_figure(look).axes]
    titles = [text for text in words if text]
    assert len(titles) == 5
    assert [title[-1] for title in titles] == ["✓", "✗", "✗", "✓", "✓"]
    assert all(title.startswith("true ") and "predicted" in title for title in titles)


def test_the_page_stands_alone(look):
    check, _, made = results(look)
    sections = [images_section(look), heads_section(look, 1), hiding_section(check)]
    sections += [completion_section(made), text_section(LOOK)]
    out = page("A & B", sections, under="1 < 2")
    assert "<title>A &amp; B</title>" in out
    assert "1 &lt; 2" in out
    assert "<script" not in out
    for address in re.findall(r'(?:src|href)="([^"]*)"', out):
        assert address.startswith(("data:image/png;base64,", "#")), address
    assert not re.search(r"@import|url\((?!#)|<link|<iframe", out)
    assert "prefers-color-scheme: dark" in out
    assert out.count("<img") == 5 * 4 + 2 * 2 + 12 * 3
    assert all('alt="' in tag for tag in re.findall(r"<img[^>]*>", out))
    ids = re.findall(r' id="(p[0-9a-f]{10})"', out)
    assert len(ids) == len(set(ids)), "two plots share a clip path"


def test_plots_take_the_colours_of_the_page(look):
    text = themed_svg(hiding_figure(results(look)[0]))
    assert text.startswith("<svg")
    assert "currentColor" in text
    assert "#1a1f2b" not in text
    assert not re.search(r'<svg[^>]* (width|height)="', text)
    assert "viewBox" in text


def test_a_model_without_attention(tmp_path):
    from regard.models import MLP, MLPConfig

    shown = pictures(2)
    found = look_images(MLP(MLPConfig(image=(4, 6), classes=3)), shown / 255, shown, ["a", "b", "c"], steps=1)
    assert list(found.maps) == ["gradient"]
    assert found.maps["gradient"].shape == (2, 4, 6)
    save_figure(images_figure(found), tmp_path / "a.png")
    for make in (heads_figure, heads_section):
        with pytest.raises(ValueError, match="without heads"):
            make(found)


def test_png_is_read_back_by_others():
    pixels = torch.randint(0, 256, (3, 5, 3), generator=draw()).to(torch.uint8)
    with Image.open(io.BytesIO(png(pixels))) as image:
        assert image.size == (5, 3)
        assert image.tobytes() == bytes(pixels.flatten().tolist())
    with pytest.raises(ValueError, match="uint8"):
        png(pixels.float())


def test_overlays_show_where():
    picture = torch.full((1, 4, 6), 128, dtype=torch.uint8)
    shares = torch.zeros(2, 3)
    shares[1, 2] = 1
    out = overlay(picture, shares, side=60).float().sum(2)
    assert out.shape == enlarge(picture, 60).shape[:2] == (40, 60)
    at = divmod(int(out.argmax()), 60)
    assert at[0] >= 20
    assert at[1] >= 40
    signed = overlay(picture, torch.tensor([[-1.0, 0.0, 1.0]]), side=60, signed=True).int()
    assert signed[20, 5, 2] > signed[20, 5, 0]
    assert signed[20, 55, 0] > signed[20, 55, 2]
    assert signed[20, 30].max() - signed[20, 30].min() <= 6, "nothing moved the answer: grey"
    assert stretch(torch.ones(2, 2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_long_lines_are_wrapped():
    found = wrapped(("a\n", "bb", "x" * 50, "c"), " ", across=10)
    assert found == [(0, 0, "a"), (1, 0, "bb"), (2, 0, "x" * 50), (3, 0, "c")]
    assert wrapped((" a", " b", "c"), "", across=10) == [(0, 0, "a"), (0, 2, "b"), (0, 3, "c")]


def test_positions():
    found = position_similarity(vit())
    table = vit().position.weight.detach()
    want = torch.nn.functional.cosine_similarity(table[1 * 6 + 2], table[0 * 6 + 5], dim=0)
    assert float(found.similarity[1, 2, 0, 5]) == pytest.approx(float(want), abs=1e-6)
    assert position_similarity(gpt(), length=4).similarity.shape == (4, 4)
    from regard.layers import Rotary, Sinusoidal

    waves = position_similarity(gpt(position=Sinusoidal())).similarity
    assert torch.allclose(waves.diagonal(1), waves[0, 1].expand(8), atol=1e-5)
    with pytest.raises(ValueError, match="must add positions to its tokens, got GPT"):
        position_similarity(gpt(position=Rotary()))
    with pytest.raises(ValueError, match="length is for texts"):
        position_similarity(vit(), length=3)


def test_completion_keeps_what_was_given():
    model = GridCompletion(GridCompletionConfig(levels=3, hidden=4), generator=draw())
    images = torch.randint(3, (4, 5, 7), generator=draw())
    found = complete_images(model, images)
    assert found.known == 2
    assert torch.equal(found.completed[:, :2], images[:, :2])
    assert 0 <= found.same <= 1
    again = [complete_images(model, images, known=1, generator=draw(3)).completed for _ in range(2)]
    assert torch.equal(*again)
    with pytest.raises(ValueError, match="known must be at most 4"):
        complete_images(model, images, known=5)
    with pytest.raises(ValueError, match="at least 2 rows"):
        complete_images(model, images[:, :1])
