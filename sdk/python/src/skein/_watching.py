"""A watch of one kind as a state machine without network, time or threads; the shells carry out what it says.

A watch that ends is taken up at the last resourceVersion; one that ends at once, without an event, has failed. One that
has expired (410) is begun with a list, from which what was added, changed and deleted meanwhile is found, so that
nothing is missed. Failures in a row are bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from skein._backoff import Backoff
from skein.errors import ApiError, Expired, Forbidden, Invalid, NotFound, Unreachable
from skein.resource import Resource

SHORT_S = 1.0
"""A stream without an event that ends before this, in seconds, has failed: a server keeps it open for a minute."""

R = TypeVar("R", bound=Resource[Any, Any])

Kind = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(frozen=True)
class Event(Generic[R]):
    """One change. `object` is as of the change; of a DELETED one, the last that was observed."""

    type: Kind
    object: R


class Lines:
    """Whole lines out of pieces of a stream."""

    def __init__(self) -> None:
        self._rest = b""

    def push(self, piece: bytes) -> Iterator[bytes]:
        """The lines that this piece completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return (line for line in lines if line.strip())


class Watching(Generic[R]):
    """See the module text."""

    def __init__(self, model: type[R], backoff: Backoff = Backoff()) -> None:  # noqa: B008 - it is frozen
        self._model = model
        self._backoff = backoff
        self._failures = 0
        self._known: dict[str, R] = {}
        self._had_event = False
        self.version: str | None = None
        """Where to watch from; None: list first."""

    @property
    def objects(self) -> Sequence[R]:
        """All objects that there are, by the last list and the changes since."""
        return tuple(self._known.values())

    def succeeded(self) -> None:
        """An answer came: failures are counted from the next one on."""
        self._failures = 0

    def listed(self, body: Mapping[str, Any]) -> list[Event[R]]:
        """The answer to a list."""
        self._failures = 0
        self.version = str(body["metadata"]["resourceVersion"])
        before, self._known = self._known, {}
        events: list[Event[R]] = []
        for item in body.get("items", []):
            found = self._model.from_api(item)
            uid = found.metadata.uid or found.name
            self._known[uid] = found
            old = before.pop(uid, None)
            if old is None:
                events.append(Event("ADDED", found))
            elif old.metadata.resource_version != found.metadata.resource_version:
                events.append(Event("MODIFIED", found))
        return [Event("DELETED", gone) for gone in before.values()] + events

    def lines(self, lines: Iterable[bytes]) -> Iterator[Event[R]]:
        """What lines of a watch say. Raises `Expired` when it has to begin with a list again."""
        for line in lines:
            said = json.loads(line)
            type_, body = said.get("type"), said.get("object", {})
            if type_ == "ERROR":
                self.version = None
                message, code = str(body.get("message")), int(body.get("code") or 0)
                if code == 410:
                    raise Expired(message, code)
                raise ApiError(message, code, str(body.get("reason")))
            self._failures = 0
            self.version = str(body["metadata"]["resourceVersion"])
            if type_ not in ("ADDED", "MODIFIED", "DELETED"):
                continue
            found = self._model.from_api(body)
            uid = found.metadata.uid or found.name
            if type_ == "DELETED":
                self._known.pop(uid, None)
            else:
                self._known[uid] = found
            self._had_event = True
            yield Event(type_, found)

    def ended(self, lasted_s: float) -> None:
        """The stream ended, after so many seconds. Raises `Unreachable` when that is a failure."""
        had_event, self._had_event = self._had_event, False
        if not had_event and lasted_s < SHORT_S:
            raise Unreachable("the API server ended the watch at once")

    def failed(self, error: Exception) -> float:
        """The seconds to wait before the next try. Raises what no further try would mend."""
        if isinstance(error, Expired):
            self.version = None
        if isinstance(error, Forbidden | NotFound | Invalid):
            raise error
        if not isinstance(error, ApiError | Unreachable):
            raise error
        self._failures += 1
        if self._failures >= self._backoff.tries:
            raise Unreachable(
                f"the watch of {self._model.PLURAL} failed {self._failures} times in a row; see that its server "
                f"runs and begin again. The last failure: {error}"
            ) from error
        return self._backoff.delay_s(self._failures)
