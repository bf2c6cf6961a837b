"""Events of Kubernetes about an object: what happened to it, in the words of whoever reported it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

GROUP, VERSION, PLURAL = "events.k8s.io", "v1", "events"
NAMESPACE = "default"
"""Where events are about an object in no namespace."""


@dataclass(frozen=True)
class ObjectEvent:
    """What happened to an object. A server keeps it for a limited time, an hour as a rule."""

    type: str
    """Normal or Warning."""
    reason: str
    """Why, in one word."""
    message: str
    time: datetime
    """When it happened last."""
    count: int
    """How often it happened."""
    reporter: str


def arguments(kind: str, name: str) -> dict[str, str]:
    """The arguments of a list of all events about an object."""
    selector = f"regarding.kind={kind},regarding.name={name}"
    return {"group": GROUP, "version": VERSION, "plural": PLURAL, "field_selector": selector}


def read(items: Iterable[Mapping[str, Any]]) -> list[ObjectEvent]:
    """From the items of a list, the oldest first."""
    return sorted((_read(item) for item in items), key=lambda event: event.time)


def _read(item: Mapping[str, Any]) -> ObjectEvent:
    series = item.get("series") or {}
    times = (series.get("lastObservedTime"), item.get("deprecatedLastTimestamp"), item.get("eventTime"))
    time = next((time for time in times if time), item["metadata"]["creationTimestamp"])
    return ObjectEvent(
        type=item.get("type") or "Normal",
        reason=item.get("reason") or "",
        message=item.get("note") or "",
        time=datetime.fromisoformat(time),
        count=int(series.get("count") or item.get("deprecatedCount") or 1),
        reporter=item.get("reportingController") or (item.get("deprecatedSource") or {}).get("component") or "",
    )
