"""Random numbers that depend on what they are for, and on nothing else."""

import hashlib

import torch


def generator(*key: int | str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator seeded by all parts of a key, such as (seed, epoch, "buckets").

    Neighbouring keys give unrelated numbers, and no key continues where another one ends.

    >>> torch.equal(torch.rand(3, generator=generator(0, 1)), torch.rand(3, generator=generator(0, 1)))
    True
    >>> torch.equal(torch.rand(3, generator=generator(0, 1)), torch.rand(3, generator=generator(1, 0)))
    False
    """
    return torch.Generator(device).manual_seed(seed_of(*key))


def seed_of(*key: int | str) -> int:
    """The seed that belongs to a key, from 0 to 2⁶³ − 1."""
    if wrong := [part for part in key if isinstance(part, bool) or not isinstance(part, int | str)]:
        raise ValueError(f"key must consist of integers and strings, got {wrong[0]!r}")
    digest = hashlib.sha256(repr(key).encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(digest[:8], "big") >> 1
