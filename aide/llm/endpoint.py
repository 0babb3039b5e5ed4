"""Where a provider's model is reached: the model's name, the base URL and the key."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from aide.errors import ConfigError, ModelUnusableError

PLACEHOLDER_KEY = "none"
"""What is sent to a server of the user's own if no key is set; the SDKs insist on one."""

_ARGUMENT = re.compile(r"(?P<model>.*?)@(?P<url>https?://.+)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's own service.

    Attributes:
        provider: its name here.
        url: its base URL, in the form that its SDK wants.
        path: what every base URL of its protocol ends in; "" if nothing does.
        key, base: the environment variables of the key and of another base URL.
    """

    provider: str
    url: str
    path: str
    key: str
    base: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at a place.

    Attributes:
        service: whose protocol it is.
        model: the name that the service knows it by.
        url: the base URL, without a slash at its end.
        key: the secret key; kept out of the object's printed form.
    """

    service: Service
    model: str
    url: str
    key: str = field(repr=False)

    @property
    def own(self) -> bool:
        """True if it is the provider's own service."""
        return self.url == self.service.url

    @property
    def model_at(self) -> str:
        """The model, with "@URL" behind it if it is not at the provider's own service."""
        return self.model if self.own else f"{self.model}@{_public(urlsplit(self.url))}"

    @property
    def name(self) -> str:
        """What the books call it: "provider:model" or "provider:model@URL"."""
        return f"{self.service.provider}:{self.model_at}"

    @property
    def transport(self) -> dict[str, Any]:
        """The settings of the SDK's HTTP client.

        Proxies and certificates of the environment count (HTTPS_PROXY, SSL_CERT_FILE, ...), but
        never for this machine. No redirect is followed: a key goes where it was meant to go.
        """
        # Without TLS there is nothing to verify, and loading the certificates takes a while.
        tls = self.url.lower().startswith("https:")
        return {"trust_env": not self._here, "verify": tls, "follow_redirects": False}

    @property
    def _here(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


def endpoint(service: Service, argument: str) -> Endpoint:
    """Where the model of an argument is.

    Args:
        service: the provider.
        argument: "MODEL" or "MODEL@BASE_URL". Without a URL the environment's counts, then the
            provider's own.

    Raises:
        ConfigError: no model is named, or the URL is none.
        ModelUnusableError: the provider's own service is meant and its key is not set, or the
            key cannot be one.
    """
    match = _ARGUMENT.fullmatch(argument)
    model, given = (match["model"], match["url"]) if match else (argument, "")
    if not match and re.search(r"@.*[/:]", argument):
        raise ConfigError(f"{argument!r}: give the base URL with its scheme, as in MODEL@http://…")
    if not model.strip():
        raise ConfigError(f"name the model, as {service.provider}:MODEL")
    url = _base_url(service, given or os.environ.get(service.base, "").strip() or service.url)
    key = os.environ.get(service.key, "").strip()
    if not key and url == service.url:
        raise ModelUnusableError(f"{service.provider} needs a key: set {service.key}")
    if not key.isascii() or not key.isprintable():
        raise ModelUnusableError(f"{service.key} holds characters that no key has; set it anew")
    return Endpoint(service, model.strip(), url, key or PLACEHOLDER_KEY)


def _base_url(service: Service, text: str) -> str:
    """The base URL as the SDK wants it: people give it with or without the protocol's path."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme.lower() in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(letter.isspace() for letter in text):
        raise ConfigError(f"{text!r} is no base URL for {service.provider}; give http(s)://HOST…")
    url = text.rstrip("/")
    if service.path:
        return url + service.path if not parts.path.strip("/") else url
    return url.removesuffix("/v1")


def _public(parts: SplitResult) -> str:
    """A URL without the user and the password in it."""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
