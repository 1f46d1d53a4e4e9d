"""What a hunt came to."""

from dataclasses import dataclass, field


@dataclass
class Found:
    """How many tries there were, of which kinds, and what went wrong in which."""

    tried: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, kind: str, fault: str | None = None) -> None:
        """One more try of a kind, and the fault that it showed, if any."""
        self.tried[kind] = self.tried.get(kind, 0) + 1
        if fault is not None:
            self.faults.append(f"{kind}: {fault}")

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.tried.items()))
        return "\n".join(
            [f"{sum(self.tried.values()):,} tries ({kinds}), {len(self.faults)} faults", *self.faults]
        )
