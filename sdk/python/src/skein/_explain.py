"""Why something has not come true yet, in words for a person: conditions, reasons, messages, and what to do."""

from __future__ import annotations

from typing import Any

from skein._advice import ADVICE
from skein.resource import Condition, Resource

Object = Resource[Any, Any]

# A condition of these that is not True says nothing is wrong.
_ABNORMAL = {"Stalled", "Reconciling", "Failed", "Suspended"}


def explain(object: Object) -> str:
    """The state of an object as indented lines."""
    lines: list[str] = []
    status = object.status
    phase = getattr(status, "phase", None)
    if phase:
        lines.append(f"phase: {phase}")
    if not object.conditions:
        lines.append("it has no conditions yet: has the coordinator observed it? (`skein status`)")
    for condition in object.conditions:
        lines.append(f"{condition.type} is {condition.status}: {condition.reason}: {condition.message}")
        if not object.is_observed(condition):
            lines.append("    (from before the last change of its spec)")
        if (do := advice(object.KIND, condition)) is not None:
            lines.append(f"    to do: {do}")
    for refusal in getattr(status, "arming_refusals", None) or []:
        lines.append(f"does not arm: {refusal.message} ({refusal.class_})")
    return "\n".join(f"  {line}" for line in lines)


def advice(kind: str, condition: Condition) -> str | None:
    """What to do about a condition; None when nothing is wrong, or nothing is known to help."""
    healthy = "False" if condition.type in _ABNORMAL else "True"
    if condition.status == healthy:
        return None
    means, do = ADVICE.get(kind, {}).get(condition.reason, ("", ""))
    return (do or means) or None
