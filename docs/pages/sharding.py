"""The page of sequences over many GPUs, on paper: every number is counted now, from the plans themselves."""

from __future__ import annotations

from regard.pattern import Exchange, parse

HEADS, GROUPS, WIDTH, BYTES = 32, 8, 128, 2  # one layer of an 8B Llama, in bfloat16
EACH = 2 * GROUPS * WIDTH * BYTES  # of a key and its value, all heads
LINKS = {"200 Gb/s": 25e9, "400 Gb/s": 50e9, "NVLink, 450 GB/s": 450e9}  # bytes a second into one GPU
SIZES = ((1 << 20, 8), (1 << 24, 1024))  # positions, GPUs
PATTERNS = (
    "causal", "strided(4096)", "strided(4096) | global(64) & causal", "dilated(128, 64)",
    "sparsefixed(1024, 8)", "randomblocks(64, 3, 7)",
)  # fmt: skip

HEAD = f"""# Long sequences, on paper

What one GPU receives in the forward pass of one layer ({HEADS} heads of {WIDTH}, {GROUPS} groups of keys, bfloat16: {EACH:,} bytes for a key with its value), and how long that takes if nothing but the link's speed counts: no latency, no overlap with work. These are plans and divisions, not measurements: `python docs/make.py` counts them anew. Backward sends as many bytes in gradients the other way.

*Ring*: every key visits every GPU, whatever the pattern. *Ulysses*: queries, keys and values change from parts of the sequence to parts of the heads, and results back; it needs as many groups of keys as GPUs, here {GROUPS}, and beyond that copies of keys, up to {HEADS}: for more its row says what it would take if heads could be cut further.
"""  # noqa: E501 - paragraphs are lines

TAIL = """
Read it so: with a band, what is received does not grow with the sequence, nor with the GPUs; with plain causal attention all GPUs together receive three quarters of a ring's keys, and the busiest, which has the last rows, as many as in a ring: there a plan saves it nothing, and Ulysses, where heads suffice, sends less. The imbalance is that of the pairs: the busiest GPU over the mean.
"""  # noqa: E501 - paragraphs are lines


def pages() -> dict[str, str]:
    """The page under its path."""
    return {"sharding.md": HEAD + "".join(table(n, ranks) for n, ranks in SIZES) + TAIL}


def table(n: int, ranks: int) -> str:
    """All ways for one size."""
    lines = [
        f"\n## {n:,} positions on {ranks:,} GPUs\n",
        "| | bytes into the busiest GPU | of a ring's | " + " | ".join(LINKS) + " | imbalance |",
        "|---" * (4 + len(LINKS)) + "|",
    ]
    ring, ulysses = ring_bytes(n, ranks), ulysses_bytes(n, ranks)
    lines.append(row("ring, any pattern", ring, ring, ""))
    lines.append(
        row("Ulysses, any pattern" if ranks <= GROUPS else "Ulysses, if it could", ulysses, ring, "")
    )
    for text in PATTERNS:
        plan = parse(text).exchange(n, ranks)
        lines.append(row(f"`{cell(text)}`", received_bytes(plan), ring, f"{plan.imbalance:.4f}"))
    return "\n".join(lines) + "\n"


def row(name: str, received: int, ring: int, imbalance: str) -> str:
    """One way: its bytes, their share and the seconds by each link."""
    times = " | ".join(seconds(received / speed) for speed in LINKS.values())
    return f"| {name} | {received:,} | {100 * received / ring:.3g} % | {times} | {imbalance} |"


def received_bytes(plan: Exchange) -> int:
    """What the rank that receives most receives."""
    return max(plan.received_keys) * EACH


def ring_bytes(n: int, ranks: int) -> int:
    """All keys but its own."""
    return (n - n // ranks) * EACH


def ulysses_bytes(n: int, ranks: int) -> int:
    """Of its part of queries, keys, values and results all but what stays."""
    whole = (2 * HEADS + 2 * GROUPS) * WIDTH * BYTES * (n // ranks)
    return whole * (ranks - 1) // ranks


def seconds(value: float) -> str:
    """A duration in a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def cell(text: str) -> str:
    """Text that a cell of a table can hold."""
    return text.replace("|", "\\|")
