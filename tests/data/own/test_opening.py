"""Bad data in dozens of kinds: each is one clear line with its file, and nothing else is lost."""

import json
import os
import zlib

import numpy as np
import pytest
from PIL import Image

from regard.data import BadData, Corpus, Images, Reviews, Source, load
from tests.data.own.making import SIZE, photos, picture, table


def truncated(path):
    picture().save(path)
    path.write_bytes(path.read_bytes()[:60])


def half_jpeg(path):
    picture(size=(64, 64)).save(path, "JPEG")
    path.write_bytes(path.read_bytes()[:500])


def animated(path):
    frames = [picture(i) for i in range(3)]
    frames[0].save(path, "GIF", save_all=True, append_images=frames[1:])


def huge(path):
    # A header that promises 100,000 × 100,000 pixels, in a few bytes.
    picture().save(path)
    data = bytearray(path.read_bytes())
    data[16:24] = (100_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    path.write_bytes(data)


def unreadable(path):
    picture().save(path)
    path.chmod(0)


BAD_IMAGES = {
    "corrupt": (lambda path: path.write_bytes(b"no image at all"), "is no image that can be read"),
    "empty": (lambda path: path.write_bytes(b""), "is no image that can be read"),
    "truncated": (truncated, "damaged image|no image"),
    "half a jpeg": (half_jpeg, "damaged image"),
    "animated": (animated, "is animated"),
    "huge": (huge, "at most 64,000,000 pixels|damaged"),
    "text": (lambda path: path.write_text("hello"), "is no image that can be read"),
    "web page": (lambda path: path.write_text("<html>404</html>"), "is no image"),
    "pdf": (lambda path: path.write_bytes(b"%PDF-1.4 ..."), "is no image"),
    "icon": (lambda path: picture(size=(16, 16)).save(path, "ICO"), "must be PNG, JPEG or WebP, got ICO"),
}


@pytest.mark.parametrize("kind", BAD_IMAGES)
def test_a_bad_image_is_named_and_nothing_else_is_lost(kind, tmp_path):
    make, message = BAD_IMAGES[kind]
    root = photos(tmp_path / "photos")
    make(root / "cat" / "bad one ü.png")
    with pytest.raises(BadData, match=f"photos has 1 problem: cat/bad one ü.png: .*({message})") as caught:
        load(root, size=SIZE)
    assert len(caught.value.problems) == 1
    assert "\n" not in str(caught.value)
    found = load(root, size=SIZE, skip_bad=True)
    assert len(found.train) + len(found.test) == 24


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path):
    root = photos(tmp_path / "photos")
    unreadable(root / "cat" / "x.png")
    with pytest.raises(BadData, match=r"cat/x.png: cannot be read: Permission denied"):
        load(root)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "CMYK", "L", "1", "LA", "I", "I;16"])
def test_every_mode_of_images_is_read(mode, tmp_path):
    root = photos(tmp_path / "photos")
    one = picture(7, mode="L" if mode == "I;16" else mode)
    if mode == "I;16":
        one = Image.fromarray((np.arange(48, dtype=np.uint16) * 1000).reshape(SIZE))
    one.save(root / "cat" / ("extra.tif" if mode in ("CMYK", "I", "I;16") else "extra.png"))
    found = load(root)
    assert len(found.train) + len(found.test) == 25


def test_a_turned_photo_stands_upright(tmp_path):
    root = photos(tmp_path / "photos")
    lying = picture(3, size=(8, 6))
    exif = lying.getexif()
    exif[0x0112] = 6
    lying.save(root / "cat" / "phone.jpg", exif=exif)
    assert load(root).train.images.shape[1:] == (3, *SIZE)  # of one size only because it was turned


def test_mixed_sizes_need_a_size(tmp_path):
    root = photos(tmp_path / "photos")
    picture(size=(9, 9)).save(root / "dog" / "square.png")
    with pytest.raises(ValueError, match=r"2 sizes \(24 of 6x8, 1 of 9x9\): say .* --size 32x32"):
        load(root)
    assert load(root, size=(4, 5)).train.images.shape[1:] == (3, 4, 5)


def test_grey_images_have_one_channel(tmp_path):
    assert load(photos(tmp_path / "photos", mode="L")).train.images.shape[1:] == (1, *SIZE)


FOLDERS = {
    "empty folder": (lambda root: root.mkdir(), "holds nothing that can be read as data: it is empty"),
    "one class": (lambda root: photos(root, ("cat",)), "has one class only, 'cat'"),
    "other files": (
        lambda root: (root.mkdir(), (root / "a.docx").write_text("x")),
        "1 files that end in .docx",
    ),
    "no classes": (
        lambda root: (root.mkdir(), [picture(i).save(root / f"{i}.png") for i in range(3)]),
        "0.png: lies in no class folder",
    ),
    "all corrupt": (
        lambda root: [((root / c).mkdir(parents=True), (root / c / "a.png").write_text("x")) for c in "ab"],
        "holds no image that can be read",
    ),
    "empty class": (
        lambda root: (photos(root), (root / "bird").mkdir()),
        "bird: is a class folder with nothing",
    ),
    "loop": (
        lambda root: (photos(root), (root / "cat" / "again").symlink_to(root)),
        "cat/again: is a link to a folder that it lies in",
    ),
    "broken link": (
        lambda root: (photos(root), (root / "cat" / "gone.png").symlink_to("nowhere.png")),
        "cat/gone.png: is no file: a broken link",
    ),
    "a picture beside": (
        lambda root: (photos(root), picture().save(root / "stray.png")),
        "stray.png: lies in no class folder, so its label is missing",
    ),
    "strange test class": (
        lambda root: (photos(root / "train"), photos(root / "test", ("cat", "cow"))),
        "test/cow/0.png: is of class 'cow', which train/ lacks",
    ),
    "missing": (lambda root: None, "there is no file or folder .*photos"),
    "one class is all bad": (
        lambda root: (photos(root), (root / "cow").mkdir(), (root / "cow" / "a.png").write_text("x")),
        "nothing of class 'cow' can be read",
    ),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_bad_folders(kind, tmp_path):
    make, message = FOLDERS[kind]
    make(tmp_path / "photos")
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "photos")
    assert "\n" not in str(caught.value)


BAD_ROWS = {
    "empty row": ("", "the row is empty"),
    "spaces": ("  ,  ", "the row is empty"),
    "no label": ("fine film,", "label is missing"),
    "blank label": ("fine film,   ", "label is missing"),
    "no text": (",good", "text is empty"),
    "blank text": ("   ,good", "text is empty"),
    "too few cells": ("fine film", "has 1 cells where the header has 2"),
    "too many cells": ("fine, film,good", "has 3 cells where the header has 2"),
    "zero byte": ("fi\0ne,good", "text holds zero bytes"),
    "zero in label": ("fine,go\0od", "label holds zero bytes"),
    "quote in the middle": ('"fine"film,good', "the row cannot be read"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_is_named_by_its_line(kind, tmp_path):
    line, message = BAD_ROWS[kind]
    path = table(tmp_path / "reviews.csv", "first row,good", line)
    with pytest.raises(BadData, match=f"reviews.csv, line 3: .*{message}"):
        load(path)
    found = load(path, skip_bad=True)
    assert len(found.train) + len(found.test) == 13


def test_lines_are_counted_through_quoted_line_ends(tmp_path):
    path = table(tmp_path / "r.csv", '"two\nlines",good', "x,")
    with pytest.raises(BadData, match=r"r.csv, line 4: label is missing"):
        load(path)


BAD_TABLES = {
    "empty": (b"", "is empty"),
    "a mark alone": (b"\xef\xbb\xbf", "is empty"),
    "header alone": (b"text,label\n", "holds no rows"),
    "utf-16": ("text,label\na,b\n".encode("utf-16"), "is in UTF-16: save it as UTF-8"),
    "latin-1": (
        "text,label\ncaf\xe9,good\nx,bad\ny,good\n".encode("latin-1"),
        "line 2: text is not in UTF-8",
    ),
    "latin-1 header": ("t\xe9xt,label\na,b\n".encode("latin-1"), "the header is not in UTF-8"),
    "columns twice": (b"text,text\na,b\n", "line 1: the column 'text' stands there twice"),
    "nameless column": (b"text,\na,b\n", "line 1: column 2 has no name"),
    "other columns": (b"a,b,c\n1,2,3\n", "which column holds the texts.*its columns are a, b, c"),
    "one class": (b"text,label\na,x\nb,x\nc,x\n", "has one class only, 'x'"),
    "open quote": (b'text,label\na,x\n"b,y\nc,x\n', "line 3: a quote is opened here and never closed"),
    "zip": (b"PK\x03\x04rest", "is an archive or a spreadsheet"),
    "gzip": (b"\x1f\x8b\x08rest", "is an archive"),
    "no classes": (
        b"text,label\n" + b"".join(b"t%d,%d.5\n" % (i, i) for i in range(80)),
        "80 different labels in 80 examples .*: is that the column of classes",
    ),
    "one good row": (b"text,label\na,x\nb,\n", "one class only"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables(kind, tmp_path):
    data, message = BAD_TABLES[kind]
    (tmp_path / "reviews.csv").write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "reviews.csv")
    assert "\n" not in str(caught.value)


def test_a_misspelt_column_is_guessed(tmp_path):
    with pytest.raises(ValueError, match="no column 'lable' for --label; did you mean 'label'"):
        load(table(tmp_path / "r.csv"), label="lable")
    with pytest.raises(ValueError, match="which column holds the labels"):
        load(table(tmp_path / "r.csv", header="text,who"), kind="reviews")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("delimiter", "name"), [(",", "r.csv"), (";", "r.csv"), ("\t", "r.tsv"), ("\t", "r.csv")]
)
def test_good_tables_of_many_kinds(end, mark, delimiter, name, tmp_path):
    lines = ["review" + delimiter + "stars", *(f"näme {i}{delimiter}{i % 5}" for i in range(40)), "", ""]
    (tmp_path / name).write_bytes(mark + end.join(lines).encode())
    found = load(tmp_path / name, text="review", label="stars")
    assert isinstance(found, Reviews)
    assert found.classes == ("0", "1", "2", "3", "4")
    assert {*found.train.texts, *found.test.texts} == {f"näme {i}" for i in range(40)}


def test_quotes_commas_and_very_long_lines(tmp_path):
    long = "word " * 200_000
    path = table(tmp_path / "r.csv", f'"{long}",good', '"she said ""no"", twice",bad')
    found = load(path)
    assert {long, 'she said "no", twice'} <= {*found.train.texts, *found.test.texts}


BAD_LINES = {
    "broken": ('{"text": "a", "label"', "is no JSON"),
    "a list": ('["a", "b"]', "must be a JSON object with a text, got list"),
    "no key": ('{"txt": "a", "label": 1}', "text is missing"),
    "null": ('{"text": null, "label": 1}', "text is missing"),
    "a number": ('{"text": 7, "label": 1}', "text must be a text, got '7'"),
    "no label": ('{"text": "a"}', "label is missing"),
    "label null": ('{"text": "a", "label": null}', "label is missing"),
    "label list": ('{"text": "a", "label": [1]}', "label must be a word or a number"),
    "blank": ("", "the row is empty"),
    "nan": ('{"text": "a", "label": NaN}', "label is missing"),
    "strange split": (
        '{"text": "a", "label": 1, "split": "holdout"}',
        "split must be train, validation or test",
    ),
    "deep": ("[" * 100_000, "is no JSON"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_bad_lines_of_json(kind, tmp_path):
    line, message = BAD_LINES[kind]
    good = [json.dumps({"text": f"text {i}", "label": i % 3}) for i in range(12)]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*good[:6], line, *good[6:]]) + "\n")
    with pytest.raises(BadData, match=f"r.jsonl, line 7: .*{message}"):
        load(path)
    found = load(path, skip_bad=True)
    assert len(found.train) + len(found.test) == 12
    assert found.classes == ("0", "1", "2")


def test_json_that_is_not_utf8(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(b'{"text": "a", "label": 1}\n{"text": "caf\xe9", "label": 0}\n')
    with pytest.raises(BadData, match="line 2: is not in UTF-8"):
        load(tmp_path / "r.jsonl")


PATHS = {
    "outside": ("../secret.png", "leads outside of set/"),
    "absolute": ("/etc/passwd", "leads outside of set/"),
    "missing": ("gone.png", "there is no file 'gone.png'"),
    "a folder": ("pics", "there is no file 'pics'"),
    "zero byte": ("a\0b.png", "holds zero bytes"),
    "twice": ("pics/0.png", "stands here again"),
    "too long": ("x" * 5000 + ".png", "cannot be used|there is no file"),
}


def pictured(root, *lines):
    (root / "pics").mkdir(parents=True)
    rows = []
    for i in range(12):
        picture(i).save(root / "pics" / f"{i}.png")
        rows.append(f"pics/{i}.png,{'cat' if i % 2 else 'dog'}")
    (root / "labels.csv").write_text("\n".join(["path,label", *rows, *lines]) + "\n")
    return root


@pytest.mark.parametrize("kind", PATHS)
def test_bad_paths_in_a_table_of_images(kind, tmp_path):
    path, message = PATHS[kind]
    picture().save(tmp_path / "secret.png")
    root = pictured(tmp_path / "set", f"{path},cat")
    with pytest.raises(BadData, match=f"labels.csv, line 14: .*({message})"):
        load(root / "labels.csv")
    found = load(root / "labels.csv", skip_bad=True)
    assert isinstance(found, Images)
    assert len(found.train) + len(found.test) == 12


def test_a_folder_of_pictures_with_its_table(tmp_path):
    root = pictured(tmp_path / "set")
    for i in range(12):
        (root / "pics" / f"{i}.png").rename(root / f"{i}.png")
    (root / "labels.csv").write_text((root / "labels.csv").read_text().replace("pics/", ""))
    (root / "pics").rmdir()
    assert load(root).classes == ("cat", "dog")


TEXTS = {
    "empty": (b"", "is empty"),
    "spaces": (b" \n \n", "is empty"),
    "latin-1": ("one\ntwo\ncaf\xe9\n".encode("latin-1"), "line 3: is not in UTF-8"),
    "utf-16": ("hello".encode("utf-16"), "is in UTF-16"),
    "zero bytes": (b"one\ntw\0o\n", "line 2: holds zero bytes"),
    "an archive": (b"PK\x03\x04", "is an archive"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_bad_files_of_text(kind, tmp_path):
    data, message = TEXTS[kind]
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "bad one.txt").write_bytes(data)
    with pytest.raises(BadData, match=f"bad one.txt.*{message}"):
        load(tmp_path / "books")
    (tmp_path / "books" / "good.txt").write_text("fine words\n")
    with pytest.raises(BadData, match=f"books has 1 problem: bad one.txt.*{message}"):
        load(tmp_path / "books")
    assert load(tmp_path / "books", skip_bad=True).text == "fine words\n\n\n"


def test_a_text_file_has_plain_line_ends_and_no_mark(tmp_path):
    (tmp_path / "book.txt").write_bytes("\ufeffÄ\r\nb\r\n".encode())
    found = load(tmp_path / "book.txt")
    assert isinstance(found, Corpus)
    assert found.text == "Ä\nb\n"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"kind": "pictures"}, "kind must be one of images, corpus, reviews"),
        ({"size": (0, 3)}, "size must be at least 1"),
        ({"size": (3, 9999)}, "size must be at most 1,024"),
        ({"size": (3,)}, r"size must be \(rows, cols\)"),
        ({"channels": 2}, "channels must be 1 or 3"),
        ({"skip_bad": "yes"}, "skip_bad must be true or false"),
    ],
)
def test_a_source_is_checked(how, message):
    with pytest.raises(ValueError, match=message):
        Source("x", **how)


def test_wrong_kinds_say_what_is_there(tmp_path):
    with pytest.raises(ValueError, match="holds images, where texts with labels are wanted"):
        load(photos(tmp_path / "photos"), kind="reviews")
    (tmp_path / "book.txt").write_text("words")
    with pytest.raises(ValueError, match="holds text, where images are wanted"):
        load(tmp_path / "book.txt", kind="images")


def test_texts_in_class_folders(tmp_path):
    for name in ("pos", "neg"):
        (tmp_path / "r" / name).mkdir(parents=True)
        for i in range(9):
            (tmp_path / "r" / name / f"{i}.txt").write_text(f"{name} {i}")
    found = load(tmp_path / "r", kind="reviews")
    assert found.classes == ("neg", "pos")
    assert len(found.train) + len(found.test) == 18
    assert isinstance(load(tmp_path / "r"), Corpus)


def test_one_text_has_no_labels(tmp_path):
    (tmp_path / "book.txt").write_text("It was the best of times.\n" * 20)
    with pytest.raises(ValueError, match="is one text without labels: a table or a folder a class is wanted"):
        load(Source(str(tmp_path / "book.txt"), kind="reviews"))
