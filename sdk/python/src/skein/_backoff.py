"""How long to wait before the next try: doubling, capped, with jitter."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Delays in seconds. After `tries` failures in a row without an answer, there is no further try."""

    first_s: float = 0.2
    cap_s: float = 10.0
    tries: int = 10

    def delay_s(self, failures: int, chance: float | None = None) -> float:
        """The delay after so many failures in a row, from 1. `chance` in 0..1 is drawn when left out."""
        if chance is None:
            chance = random.random()
        full = min(self.cap_s, self.first_s * 2.0 ** min(failures - 1, 30))
        return full * (0.5 + 0.5 * chance)
