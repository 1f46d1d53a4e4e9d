"""The data sets by name: five published ones, and three that come with the package and need no network."""

from collections.abc import Callable
from importlib import resources
from importlib.metadata import EntryPoint
from pathlib import Path

import torch
from torch import Tensor

from regard.data import formats
from regard.data.fetch import Published, find
from regard.data.files import Known, read_known, unzipped
from regard.data.functions import FUNCTION, called
from regard.data.kinds import Corpus, Images, Pictures, Reviews, Texts, split
from regard.data.own.opening import load_own
from regard.data.own.source import Source
from regard.data.sentences import grouped, with_contrasts
from regard.errors import did_you_mean, need
from regard.importing import imported, reason
from regard.plugins import DATA, plugins

SENTIMENTS = ("negative", "positive")

FASHION = Published(
    name="fashion-mnist",
    folder="fashion-mnist",
    address="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    files=(
        Known("train-images-idx3-ubyte.gz", "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
        Known("train-labels-idx1-ubyte.gz", "md5:25c81989df183df01b3e8a0aad5dffbe", 29_515),
        Known("t10k-images-idx3-ubyte.gz", "md5:bef4ecab320f06d8554ea6380940ec79", 4_422_102),
        Known("t10k-labels-idx1-ubyte.gz", "md5:bb300cfdad3c16e7a12a480ee83cd310", 5_148),
    ),
    instead="digits",
)
FASHION_CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                   "Ankle boot")  # fmt: skip

CIFAR = Published(
    name="cifar10",
    folder="cifar-10-batches-bin",
    address="https://www.cs.toronto.edu/~kriz/",
    archive=Known("cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530"),
    root="cifar-10-batches-bin",
    wanted=r"[\w.]+\.(bin|txt)",
    files=(
        Known("data_batch_1.bin", "md5:5dd7e06a14cb22eb9f671a540d1b7c25", 30_730_000),
        Known("data_batch_2.bin", "md5:5ea93a67294ea407fff1d09f752e9692", 30_730_000),
        Known("data_batch_3.bin", "md5:942cd6a4bcdd0dd3c604fbe906cb4421", 30_730_000),
        Known("data_batch_4.bin", "md5:ae636b3ba5c66a11e91e8cb52e771fcb", 30_730_000),
        Known("data_batch_5.bin", "md5:53f37980c15c3d472c316c40844f3f0d", 30_730_000),
        Known("test_batch.bin", "md5:803d5f7f4d78ea53de84dbe85f74fb6d", 30_730_000),
    ),
    instead="digits",
)
CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

SHAKESPEARE = Published(
    name="tinyshakespeare",
    folder="tinyshakespeare",
    address="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
    files=(
        Known(
            "input.txt",
            "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            1_115_394,
        ),
    ),
    instead="play",
)

IMDB = Published(
    name="imdb",
    folder="aclImdb",
    address="https://ai.stanford.edu/~amaas/data/sentiment/",
    archive=Known("aclImdb_v1.tar.gz", "md5:7c2ac02c03563afcf9b574c7e56c153a"),
    root="aclImdb",
    wanted=r"(train|test)/(pos|neg|unsup)/\d+_\d+\.txt",
    folders=("train/neg", "train/pos", "test/neg", "test/pos"),
    instead="verdicts",
)
IMDB_COUNT = 12_500  # in each of the four folders, and four times as many without a label

SST2 = Published(
    name="sst2",
    folder="sst2",
    address="https://dl.fbaipublicfiles.com/glue/data/",
    archive=Known("SST-2.zip", "md5:9f81648d4199384278b86e315dac217c"),
    root="SST-2",
    wanted=r"(train|dev|test)\.tsv",
    files=(
        Known("train.tsv", "md5:da409a0a939379ed32a470bc0f7fe99a", 3_806_081),
        Known("dev.tsv", "md5:268856b487b2a31a28c0a93daaff7288", 94_931),
    ),
    instead="verdicts",
)

VERDICTS = (20_000, 2_000)
DIGITS_TEST_SHARE = 0.2


Set = Images | Corpus | Reviews


def load(  # noqa: PLR0911 - one case a kind of name
    name: str | Path | Source | Set,
    *,
    folder: str | Path | None = None,
    text: str | None = None,
    label: str | None = None,
    size: tuple[int, int] | None = None,
    kind: str | None = None,
    skip_bad: bool = False,
) -> Set:
    """A data set by name, from `folder` or $REGARD_DATA, the user's cache, or its official address.

    Or one's own: a folder of images, a file or folder of text, a table, whose options are those of `Source`;
    or what a function `module:function` gives; or a set that is there already.

    >>> digits = load("digits")
    >>> digits.train.images.shape, len(digits.test), digits.classes[:3]
    (torch.Size([1438, 1, 8, 8]), 359, ('0', '1', '2'))
    """
    if isinstance(name, Images | Corpus | Reviews):
        return name
    if isinstance(name, Source):
        return load_own(name if folder is None else name.within(folder))
    known, name = isinstance(name, str), str(name)
    if known and name in EMBEDDED:
        return EMBEDDED[name]()
    if known and name == TOGETHER:
        reviews, sentences = (load(one, folder=folder) for one in TOGETHER.split("+"))
        assert isinstance(reviews, Reviews)
        assert isinstance(sentences, Reviews)
        return with_contrasts(reviews, sentences, name)
    if known and name in PUBLISHED:
        source, reader = PUBLISHED[name]
        return reader(source, find(source, folder))
    if known and name in (others := plugins(DATA)):
        return brought(others[name])
    if known and FUNCTION.fullmatch(name) and not Path(name).exists():
        return called(name)
    if Path(name).expanduser().exists() or not known or "/" in name or Path(name).suffix:
        return load_own(Source(name, kind, text, label, size, skip_bad=skip_bad))
    hint = did_you_mean(name, NAMES)
    raise ValueError(
        f"name must be a data set, got {name=}{hint or ';'} there are {', '.join(NAMES)}; "
        f"and there is no file or folder of that name"
    )


def brought(found: EntryPoint) -> Images | Corpus | Reviews:
    """The data set that another installed package brings under `regard.data`."""
    make = imported(found.value)
    try:
        out = make() if callable(make) else make
    except Exception as error:
        raise ValueError(f"the data set {found.name} of {found.value} fails: {reason(error)}") from error
    if not isinstance(out, Images | Corpus | Reviews):
        kind = type(out).__name__
        raise ValueError(f"{found.value} must give Images, Reviews or a Corpus, it gave a {kind}")
    return out


def _fashion(source: Published, folder: Path) -> Images:
    parts: list[Pictures] = []
    for images, labels in (source.files[:2], source.files[2:]):
        x = _unzipped_idx(folder, images)
        y = _unzipped_idx(folder, labels).long()
        formats.check_labels(y, len(FASHION_CLASSES), folder / labels.name)
        parts.append(Pictures(x.unsqueeze(1), y))
    return Images(source.name, FASHION_CLASSES, parts[0], parts[1])


def _unzipped_idx(folder: Path, known: Known) -> Tensor:
    path = folder / known.name
    return formats.idx(unzipped(read_known(folder, known), path), path)


def _cifar(source: Published, folder: Path) -> Images:
    batches = [formats.cifar(read_known(folder, known), folder / known.name) for known in source.files]
    *train, (test_images, test_labels) = batches
    images = torch.cat([images for images, _ in train])
    labels = torch.cat([labels for _, labels in train])
    test = Pictures(test_images.contiguous(), test_labels)
    return Images(source.name, CIFAR_CLASSES, Pictures(images, labels), test)


def _shakespeare(source: Published, folder: Path) -> Corpus:
    (known,) = source.files
    return Corpus(source.name, formats.text(read_known(folder, known), folder / known.name))


def _imdb(source: Published, folder: Path) -> Reviews:
    parts: dict[str, Texts] = {}
    for part in ("train", "test"):
        texts = [formats.folder_of_texts(folder / part / side, IMDB_COUNT) for side in ("neg", "pos")]
        labels = torch.tensor([0, 1]).repeat_interleave(IMDB_COUNT)
        parts[part] = Texts(texts[0] + texts[1], labels)
    more = folder / "train" / "unsup"  # may be left out
    unlabelled = formats.folder_of_texts(more, 4 * IMDB_COUNT) if more.is_dir() else ()
    return Reviews(source.name, SENTIMENTS, parts["train"], parts["test"], unlabelled)


def _sst2(source: Published, folder: Path) -> Reviews:
    train, test = (
        Texts(*formats.table(read_known(folder, known), folder / known.name)) for known in source.files
    )
    groups, whole = grouped(train.texts)
    return Reviews(source.name, SENTIMENTS, train, test, groups=groups, whole=whole)


def _digits() -> Images:
    data = need("sklearn.datasets", "data").load_digits()
    # The strokes have 17 shades, 0 to 16, spread here over the 256 of a byte.
    images = torch.from_numpy(data.images).mul(255 / 16).round().to(torch.uint8).unsqueeze(1)
    both = Pictures(images, torch.from_numpy(data.target).long())
    train, test = split(len(both), DIGITS_TEST_SHARE, seed=0)
    return Images("digits", tuple(map(str, range(10))), both.take(train), both.take(test))


def _play() -> Corpus:
    text = resources.files("regard.data").joinpath("embedded", "play.txt").read_text(encoding="utf-8")
    return Corpus("play", text)


def _verdicts() -> Reviews:
    from regard.data.embedded.verdicts import sentences

    drawn = sentences(sum(VERDICTS), seed=0)  # all different, so that no test sentence is learned from
    texts = tuple(text for text, _ in drawn)
    labels = torch.tensor([label for _, label in drawn])
    cut = VERDICTS[0]
    return Reviews("verdicts", SENTIMENTS, Texts(texts[:cut], labels[:cut]), Texts(texts[cut:], labels[cut:]))


PUBLISHED: dict[str, tuple[Published, Callable[[Published, Path], Images | Corpus | Reviews]]] = {
    "fashion-mnist": (FASHION, _fashion),
    "cifar10": (CIFAR, _cifar),
    "tinyshakespeare": (SHAKESPEARE, _shakespeare),
    "imdb": (IMDB, _imdb),
    "sst2": (SST2, _sst2),
}
EMBEDDED: dict[str, Callable[[], Images | Corpus | Reviews]] = {
    "digits": _digits,
    "play": _play,
    "verdicts": _verdicts,
}
TOGETHER = "imdb+sst2"  # with contrasts
NAMES = (*PUBLISHED, TOGETHER, *EMBEDDED)
