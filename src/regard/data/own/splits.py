"""Which part an example belongs to: by the name of its folder, or by a hash that no other example changes."""

import hashlib

PARTS = {
    "train": ("train", "training"),
    "validation": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
PART_OF = {name: part for part, names in PARTS.items() for name in names}
TEST_SHARE = 0.1
DIGITS = 2**53  # whole numbers below it are exact as floats


def draw(key: str, what: str) -> float:
    """A number in [0, 1) that belongs to this key, the same on every machine.

    >>> 0 <= draw("cat/1.png", "test") < 1, draw("a", "test") == draw("a", "test")
    (True, True)
    """
    data = f"{what}\0{key}".encode("utf-8", "surrogatepass")
    return (int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> 11) / DIGITS


def drawn_part(key: str, named: str | None, given: frozenset[str]) -> tuple[str, float]:
    """The part of an example and its draw, by which a share of the training part validates.

    `given` are the parts that the data name themselves: nothing else is cut off for them. Where validation
    has its own examples, these are drawn 0 and all others about 1.

    >>> drawn_part("x", "validation", frozenset(("train", "validation")))
    ('train', 0.0)
    >>> drawn_part("x", None, frozenset())[0] in ("train", "test")
    True
    """
    chance = draw(key, "validation")
    if named == "validation":
        return "train", 0.0
    if named == "test":
        return "test", chance
    if "validation" in given:
        return "train", 1.0
    if not given and draw(key, "test") < TEST_SHARE:
        return "test", chance
    return "train", chance


def part_named(name: str) -> str | None:
    """The part that a folder, a file or a value of a column `split` means.

    >>> part_named("Valid"), part_named("cats")
    ('validation', None)
    """
    return PART_OF.get(name.strip().lower())
