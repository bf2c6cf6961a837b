"""What an answer of an API server means."""

from __future__ import annotations

import json

from skein.errors import ApiError, Conflict, Expired, Forbidden, Invalid, NotFound, Unreachable


def api_error(code: int, body: str | bytes | None, fallback: str = "") -> ApiError | Unreachable:
    """The error for an HTTP status and a Status object."""
    try:
        status = json.loads(body or "{}")
    except ValueError:
        status = {}
    if not isinstance(status, dict):
        status = {}
    message = str(status.get("message") or fallback or f"HTTP {code}")
    reason = str(status.get("reason") or "")
    match code:
        case 400 | 422:
            return Invalid(message, code, reason)
        case 401:
            return Forbidden(f"the API server does not accept the credential ({message}); log in again", code, reason)
        case 403:
            return Forbidden(f"{message}; ask for the right, or use another context", code, reason)
        case 404:
            return NotFound(message, code, reason)
        case 409:
            causes = [cause.get("message", "") for cause in status.get("details", {}).get("causes", [])]
            fields = [cause.get("field", "") for cause in status.get("details", {}).get("causes", [])]
            who = "; ".join(f"{field}: {cause}" for field, cause in zip(fields, causes, strict=True))
            what = (
                "leave these fields to their owner, or take them over with force=True"
                if who
                else "read the object again and repeat the change"
            )
            return Conflict(f"{message} {who}; {what}".replace(" ;", ";"), code, reason)
        case 410:
            return Expired(message, code, reason)
        case _ if code == 0 or code >= 500 or code == 429:
            return Unreachable(f"the API server answers {code}: {message}; try again")
        case _:
            return ApiError(message, code, reason)
