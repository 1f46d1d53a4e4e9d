import struct
import zlib

import pytest
import torch

from regard.paper.pixels import png
from regard.probe import read_image
from tests.probe.conftest import draw

Image = pytest.importorskip("PIL.Image")


def save(tmp_path, mode, size, name="a.png", fill=None, **options):
    path = tmp_path / name
    Image.new(mode, size, fill if fill is not None else 0).save(path, **options)
    return path


@pytest.mark.parametrize("channels", [1, 3])
def test_an_image_of_the_right_size_comes_unchanged(tmp_path, channels):
    pixels = torch.randint(0, 256, (5, 7, 3), generator=draw()).to(torch.uint8)
    if channels == 1:
        pixels = pixels[..., :1].expand(-1, -1, 3).contiguous()
    (tmp_path / "a.png").write_bytes(png(pixels))
    with Image.open(tmp_path / "a.png") as image:
        image.convert("L" if channels == 1 else "RGB").save(tmp_path / "b.png")
    found = read_image(tmp_path / "b.png", (5, 7), channels)
    assert found.notices == ()
    assert torch.equal(found.picture, pixels.permute(2, 0, 1)[:channels])
    assert found.picture.dtype == torch.uint8


def test_bytes_at_hand_are_read_like_the_file(tmp_path):
    path = save(tmp_path, "L", (9, 6), fill=77)
    found, want = read_image("no such folder/a.png", (4, 4), data=path.read_bytes()), read_image(path, (4, 4))
    assert torch.equal(found.picture, want.picture)
    assert found.notices == want.notices
    with pytest.raises(ValueError, match=r"a\.png is no image that can be read"):
        read_image("a.png", (4, 4), data=b"no image")


def test_another_size_is_cut_and_resized_with_a_notice(tmp_path):
    path = tmp_path / "wide.png"
    image = Image.new("RGB", (40, 10), "red")
    image.paste("blue", (15, 0, 25, 10))
    image.save(path)
    found = read_image(path, (5, 5), 3)
    assert found.notices == ("wide.png: 40×10 pixels, cut to the middle 10×10, resized to 5×5",)
    assert found.picture.flatten(1).T.unique(dim=0).tolist() == [[0, 0, 255]]
    tall = read_image(save(tmp_path, "L", (10, 20)), (10, 5), 1)
    assert tall.notices == ("a.png: 10×20 pixels, resized to 5×10",)
    assert tall.picture.shape == (1, 10, 5)


@pytest.mark.parametrize(
    ("mode", "fill", "channels", "value", "notice"),
    [
        ("L", 90, 3, [90, 90, 90], "grey used for all three colours"),
        ("RGB", (255, 0, 0), 1, [76], "colours turned to grey"),
        ("RGBA", (255, 0, 0, 0), 3, [255, 255, 255], "transparency laid over white"),
        ("RGBA", (9, 8, 7, 255), 3, [9, 8, 7], None),
        ("LA", (40, 0), 1, [255], "transparency laid over white"),
        ("1", 1, 1, [255], None),
        ("I;16", 257 * 100, 1, [100], "16 bits brought down to 8"),
        ("P", 0, 3, [0, 0, 0], None),
    ],
)
def test_modes(tmp_path, mode, fill, channels, value, notice):
    found = read_image(save(tmp_path, mode, (4, 3), fill=fill), (3, 4), channels)
    assert found.picture[:, 1, 2].tolist() == value
    assert [one.removeprefix("a.png: ").split(", ")[0] for one in found.notices] == (
        [notice] if notice else []
    )


@pytest.mark.parametrize("name", ["a.jpg", "a.webp"])
def test_other_kinds(tmp_path, name):
    found = read_image(save(tmp_path, "RGB", (4, 3), name, fill=(200, 200, 200)), (3, 4), 3)
    assert (found.picture.int() - 200).abs().max() <= 3


def test_cmyk_turned_and_animated(tmp_path):
    found = read_image(save(tmp_path, "CMYK", (4, 3), "a.jpg"), (3, 4), 3)
    assert found.notices == ("a.jpg: converted from CMYK to RGB",)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    image = Image.new("RGB", (4, 2))
    image.save(tmp_path / "turned.jpg", exif=exif)
    assert read_image(tmp_path / "turned.jpg", (4, 2), 3).notices == ()
    frames = [Image.new("RGB", (4, 3), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.webp", save_all=True, append_images=frames[1:], lossless=True)
    moving = read_image(tmp_path / "a.webp", (3, 4), 3)
    assert moving.notices == ("a.webp: the first of 2 frames",)
    assert moving.picture[:, 0, 0].tolist()[0] > 200


def bomb(side: int) -> bytes:
    """A tiny PNG that claims to be side × side pixels."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"0"))]
    body = b"".join(
        struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no image that can be read"),
        (b"just some words", "is no image that can be read"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "is (a damaged|no) image"),
        (bomb(9_000), "must have at most 64,000,000 pixels, got"),
        (bomb(12_000), "must have at most 64,000,000 pixels, got"),
        (bomb(60_000), "must have at most 64,000,000 pixels, got"),
    ],
    ids=["empty", "words", "header", "large", "warned", "bomb"],
)
def test_what_cannot_be_read_is_one_error(tmp_path, content, message):
    path = tmp_path / "b.png"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read_image(path, (8, 8), 3)
    assert "\n" not in str(error.value)
    assert "b.png" in str(error.value)


@pytest.mark.parametrize("kind", ["png", "jpg", "webp"])
def test_every_truncation_is_an_image_or_one_error(tmp_path, kind):
    pixels = torch.randint(0, 256, (24, 24, 3), generator=draw()).to(torch.uint8)
    Image.fromarray(pixels.numpy()).save(tmp_path / f"whole.{kind}")
    data = (tmp_path / f"whole.{kind}").read_bytes()
    path = tmp_path / f"cut.{kind}"
    failed = 0
    for length in range(0, len(data), max(1, len(data) // 60)):
        path.write_bytes(data[:length])
        try:
            read_image(path, (24, 24), 3)
        except ValueError:
            failed += 1
    assert failed > 40


def test_other_formats_folders_and_arguments(tmp_path):
    with pytest.raises(ValueError, match="must be PNG, JPEG or WebP, got GIF"):
        read_image(save(tmp_path, "P", (4, 3), "a.gif"), (3, 4), 3)
    with pytest.raises(ValueError, match="cannot be read"):
        read_image(tmp_path, (3, 4), 3)
    with pytest.raises(ValueError, match="channels=2"):
        read_image("a.png", (3, 4), 2)
    with pytest.raises(ValueError, match="size must be at least 1"):
        read_image("a.png", (0, 4), 3)
