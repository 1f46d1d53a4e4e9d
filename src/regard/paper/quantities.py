"""Numbers as people read them: shares, counts, bytes, lengths, times, speeds."""

from __future__ import annotations

UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))
BYTES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, digits: int = 1) -> str:
    """A share with so many digits behind the point.

    >>> percent(0.9714), percent(0.5, 0)
    ('97.1 %', '50 %')
    """
    return f"{100 * share:.{digits}f} %"


def fine_percent(share: float) -> str:
    """A share with three figures that count, however small it is; near the whole, five.

    >>> fine_percent(0.2266), fine_percent(1e-7), fine_percent(0.99999)
    ('22.7 %', '1e-05 %', '99.999 %')
    """
    return f"{100 * share:.3g} %" if 0 < share < 0.999 else f"{100 * share:.5g} %"


def chance(probability: float) -> str:
    """A probability in words that never claim certainty.

    >>> chance(0.734), chance(0.9999), chance(0.001)
    ('73 %', '>99 %', '<1 %')
    """
    if probability > 0.995:
        return ">99 %"
    return "<1 %" if probability < 0.005 else percent(probability, 0)


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, unless nothing of it shows.

    >>> signed(-1.25), signed(0.001), signed(3.14159, digits=1)
    ('−1.25', '0.00', '+3.1')
    """
    shown = f"{value:+.{digits}f}".replace("-", "−")
    return shown[1:] if not shown[1:].strip("0.") else shown


def number(value: object) -> str:
    """A value as a table shows it: whole numbers with commas, others with three figures.

    >>> number(65536), number(-0.12345), number("all")
    ('65,536', '−0.123', 'all')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return (f"{value:,}" if isinstance(value, int) else f"{value:.3g}").replace("-", "−")


def about(value: int, in_bytes: bool = False) -> str:
    """A large number in short; nothing for one that is short already.

    >>> about(272_298_589_184), about(497_759_232, in_bytes=True), about(12)
    ('272.3 G', '474.7 MiB', '')
    """
    for unit, name in BYTES if in_bytes else UNITS:
        if value >= unit:
            return f"{value / unit:,.1f} {name}"
    return ""


def short(count: int) -> str:
    """A count in short, or as it is.

    >>> short(272_298_589_184), short(640)
    ('272.3 G', '640')
    """
    return about(count) or f"{count:,}"


def binary(length: float) -> str:
    """A length in the powers of two that it is made of.

    >>> binary(4096), binary(1 << 20), binary(512), binary(1000)
    ('4k', '1M', '512', '1000')
    """
    for unit, name in ((1 << 20, "M"), (1 << 10, "k")):
        if length >= unit and length % unit == 0:
            return f"{length / unit:.0f}{name}"
    return f"{length:g}"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(7.25), duration(83), duration(3725)
    ('7.2 s', '1 min 23 s', '1 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"


def rate(value: float, unit: str) -> str:
    """A speed in three figures.

    >>> rate(123456, "images"), rate(12.34, "texts")
    ('123k images/s', '12.3 texts/s')
    """
    for limit, sign in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{sign} {unit}/s"
    return f"{value:.3g} {unit}/s"
