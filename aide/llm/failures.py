"""What went wrong at a provider, as an error of `aide.errors`; one home for all providers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from aide.errors import (
    ContextTooLongError,
    ModelError,
    ModelUnusableError,
    TransientModelError,
)
from aide.llm.endpoint import Endpoint

SAID = 300
"""How many characters of a provider's own message are passed on."""

_TOO_LONG = re.compile(
    r"prompt is too long|context_length_exceeded|exceed_context_size|context (length|limit|window)"
    r"|maximum (context|prompt) length|available context|maximum number of tokens"
    r"|too many (input )?tokens",
    re.IGNORECASE,
)
# A plain "quota" or "billing" would also match what a mere rate limit says about upgrades.
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance|insufficient[ _](credit|balance|fund)"
    r"|billing_(error|not_active|hard_limit_reached)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|not a valid model|invalid model|unknown model|model\W.*does not exist",
    re.IGNORECASE,
)
_NO_FORM = re.compile(
    r"response_format|json_schema|json_object|grammar|structured|tool|input_schema",
    re.IGNORECASE,
)
_NEVER_SENT = frozenset(
    {
        "ConnectError",
        "ConnectTimeout",
        "LocalProtocolError",
        "PoolTimeout",
        "ProxyError",
        "UnsupportedProtocol",
        "WriteError",
        "WriteTimeout",
    }
)
_KINDS = {408: "timeout", 429: "rate-limit", 503: "overloaded", 529: "overloaded"}
_MAYBE_BILLED = frozenset({504, 524})
"""Gateways that gave up on a service which may have gone on."""


def status_failure(
    at: Endpoint, status: int, body: object, headers: Mapping[str, str]
) -> ModelError:
    """The error for an answer that is not a success.

    Args:
        at: who was asked.
        status: of HTTP.
        body: the decoded JSON, or text, or None.
        headers: of the answer, with lower-case names or a mapping that ignores case.
    """
    said = _said(body)
    told = f"{at.name} answered {status}" + (f" ({_bounded(said)})" if said else "")
    if status == 413 or (400 <= status < 500 and _TOO_LONG.search(said)):
        return ContextTooLongError(f"{told}; the prompt has to be shorter")
    if status == 402 or (400 <= status < 500 and _NO_CREDIT.search(said)):
        return ModelUnusableError(f"{told}; there is no credit left: top it up at the provider")
    if status in (401, 403):
        return ModelUnusableError(f"{told}; the key is not accepted: check {at.service.key}")
    if status < 400 or status == 404 or (status == 400 and _NO_MODEL.search(said)):
        return ModelUnusableError(f"{told}; check the model's name and the base URL")
    if status in (408, 409, 429) or status >= 500:
        return TransientModelError(
            f"{told}; it may work later",
            kind=_KINDS.get(status, "server"),
            retry_after=retry_after(headers),
            billed=status in _MAYBE_BILLED,
        )
    return ModelError(f"{told}; the request is not accepted as it is")


def refuses_forms(at: Endpoint, status: int, body: object) -> bool:
    """True if a request that asked for a structured answer failed, it seems, because it did.

    Servers of many kinds speak the protocols, and few say clearly what they cannot do: elsewhere
    than at the provider's own service any refusal counts that has no other known reason.
    """
    said = _said(body)
    if _TOO_LONG.search(said) or _NO_CREDIT.search(said) or _NO_MODEL.search(said):
        return False
    if status in (400, 422, 501):
        return not at.own or bool(_NO_FORM.search(said))
    return status == 500 and not at.own and bool(_NO_FORM.search(said))


def without_forms(at: Endpoint) -> TransientModelError:
    """The error of the one call by which a server's refusal of structured answers is noticed."""
    return TransientModelError(
        f"{at.name} does not take requests for structured answers; it is asked in plain text",
        kind="server",
        retry_after=0.0,
    )


def timeout_failure(at: Endpoint, cause: BaseException | None, seconds: float) -> ModelError:
    """The error for no answer in time; billed unless the connection was never made."""
    if type(cause).__name__ in _NEVER_SENT:
        return connection_failure(at, cause)
    return TransientModelError(
        f"{at.name} did not answer in {seconds:g} seconds", kind="timeout", billed=True
    )


def connection_failure(at: Endpoint, cause: BaseException | None) -> ModelError:
    """The error for a connection that failed.

    Where the request had been sent the service may have worked on it, and charged for that.
    """
    # By name: the SDKs have changed their HTTP library before, and the names stayed.
    kind, said = type(cause).__name__, _bounded(str(cause or ""))
    reason = f"{kind}: {said}" if said else kind
    if kind in _NEVER_SENT:
        return TransientModelError(f"{at.name} cannot be reached ({reason})", kind="connection")
    if "body" in said or "chunked" in said or kind == "DecodingError":
        return truncated(at, reason)
    return TransientModelError(
        f"the connection to {at.name} was lost before the answer ({reason})",
        kind="connection",
        billed=True,
    )


def truncated(at: Endpoint, reason: str) -> TransientModelError:
    """The error for an answer that came, but cannot be read."""
    return TransientModelError(
        f"the answer of {at.name} did not come whole ({_bounded(reason)})",
        kind="truncated",
        billed=True,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a service asks to wait: in seconds, milliseconds or as a date."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        return _until(value, headers.get("date", ""))
    return max(0.0, seconds) if seconds < float("inf") else None


def _until(value: str, date: str) -> float | None:
    until, now = _date(value), _date(date) or datetime.now(UTC)
    return None if until is None else max(0.0, (until - now).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _said(body: object) -> str:
    texts = (text.strip() for text in _texts(body))
    return ", ".join(dict.fromkeys(text for text in texts if text not in ("", "error")))


def _texts(body: object, depth: int = 4) -> Iterator[str]:
    """The texts in a body that say what is wrong, the message first."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping) and depth:
        for key in ("message", "error", "detail", "code", "type"):
            yield from _texts(body.get(key), depth - 1)


def _bounded(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SAID else line[: SAID - 1] + "…"
