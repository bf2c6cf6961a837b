"""What can go wrong, each with what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class SkeinError(Exception):
    """The base of every error of this package."""


class FleetUnclear(SkeinError):
    """It is not clear, or not safe, which fleet is meant; the text says what to pass."""


class Unreachable(SkeinError):
    """The API server or the coordinator does not answer. Nothing is known of what happened to a write."""


class ApiError(SkeinError):
    """The API server refused a request: `code` is the HTTP status, `reason` its word for it."""

    def __init__(self, message: str, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class NotFound(ApiError):
    """No such object, Drone, Swarm or vehicle."""


class Forbidden(ApiError):
    """The credential is not accepted, or lacks the right."""


class Conflict(ApiError):
    """Somebody else owns a field that you apply, or changed the object meanwhile."""


class Invalid(ApiError):
    """The object breaks a rule; the message is the rule's, with what to do."""


class Expired(ApiError):
    """The API server no longer keeps that resourceVersion; list again. Watches of this package do so by themselves."""


class UnknownShape(SkeinError):
    """An object has a value that this version of the SDK does not know."""

    def __init__(self, kind: str, name: str, why: str) -> None:
        super().__init__(f"{kind} {name} cannot be read by this version of the Python package; update it. {why}")


class WaitTimeout(SkeinError, TimeoutError):
    """Something did not come true in time. `object` is the last that was observed, None when there was none."""

    def __init__(self, message: str, object: Any = None) -> None:
        super().__init__(message)
        self.object = object


class WillNotHappen(SkeinError):
    """What was waited for cannot come true any more, such as a Mission that has failed.

    `object` is the last that was observed.
    """

    def __init__(self, message: str, object: Any = None) -> None:
        super().__init__(message)
        self.object = object


class OrderRefused(SkeinError):
    """A ground order, a release or a resume was not carried out, or not in full; `not_done` lists the rest."""

    def __init__(self, message: str, not_done: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.not_done = tuple(not_done)


class ProgramMissing(SkeinError):
    """A program of Skein is needed and was not found; the text says how to name it."""


class ProgramFailed(SkeinError):
    """A program of Skein ended with an error; `code` is its exit code, the text its own words."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class SimulatorFailed(SkeinError):
    """A simulated fleet did not start, or has ended; the text quotes its log."""
