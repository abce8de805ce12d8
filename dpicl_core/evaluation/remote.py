"""A model behind an OpenAI-compatible address answers a typed query. What goes there is released: a set of
demonstrations, the public task, the query; never a private row.

Library: httpx2 (BSD), which huggingface_hub brings anyway.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from dpicl_core.data import flatten_text
from dpicl_core.errors import ConfigError, ModelError
from dpicl_core.evaluation.accuracy import ANSWER_TOKENS
from dpicl_core.evaluation.playground import PlaygroundAnswer, require_query
from dpicl_core.evaluation.sets import DemonstrationSet
from dpicl_core.texts import clean_text
from dpicl_core.values import Task

TIMEOUT_SECONDS = 60.0
LARGEST_ANSWER_BYTES = 2**20
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_PATH = "/chat/completions"
_REASONS: Mapping[int, str] = {
    400: "it does not take this request; the model may lack chat messages, max_tokens or temperature 0",
    401: "the key is missing or not accepted",
    403: "the key does not allow this",
    404: "there is no such address or model; the address usually ends in /v1",
    429: "too many requests, or no credit is left",
}


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """address: beginning of an OpenAI-compatible interface, such as http://127.0.0.1:8000/v1. name: of the model there.
    key: sent as a bearer token, "" for none; it is kept in memory alone and stands in no message."""

    address: str
    name: str
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        url = _parsed(self.address)
        if url is None or url.scheme not in ("http", "https") or not url.host:
            raise ConfigError("the address must begin with http:// or https:// and name a host; correct it.")
        if url.userinfo or url.query or url.fragment:
            raise ConfigError("the address must hold no user, no ? and no #; put a key into its own field.")
        if not self.name.strip():
            raise ConfigError("the model has no name; give the name under which the server knows it.")
        if any(not character.isprintable() or not character.isascii() for character in self.key):
            raise ConfigError("the key holds characters that no key has; paste it again.")

    @property
    def endpoint(self) -> str:
        """Where chat completions are asked for."""
        return f"{self.address.strip().rstrip('/').removesuffix(_PATH)}{_PATH}"

    @property
    def leaves_unencrypted(self) -> bool:
        """Whether query and key travel over a network where others may read them."""
        url = _parsed(self.address)
        return url is not None and url.scheme == "http" and url.host not in LOOPBACK


def request_bytes(remote: RemoteModel, task: Task, shown: DemonstrationSet, query: str) -> bytes:
    """The whole body that is sent: instruction, demonstrations and query as messages. Raises ConfigError for a set
    that holds internal texts, which never leave this machine, and for a query that is blank or too long."""
    if shown.internal:
        raise ConfigError("this set holds private text and is never sent anywhere; ask a model on this machine.")
    require_query(query)
    messages = [{"role": "system", "content": task.icl_instruction}] if task.icl_instruction else []
    for text, label in shown.demonstrations:
        messages.append({"role": "user", "content": flatten_text(text)})
        messages.append({"role": "assistant", "content": flatten_text(label)})
    messages.append({"role": "user", "content": flatten_text(query)})
    content = {"model": remote.name.strip(), "messages": messages, "max_tokens": ANSWER_TOKENS, "temperature": 0}
    return json.dumps(content, ensure_ascii=False).encode("utf-8")


def ask_remote(
    remote: RemoteModel, task: Task, shown: DemonstrationSet, query: str, *, timeout_seconds: float = TIMEOUT_SECONDS
) -> PlaygroundAnswer:
    """One query with one set. Raises ModelError, in a sentence without key or text, where no answer comes."""
    body = request_bytes(remote, task, shown, query)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if remote.key:
        headers["Authorization"] = f"Bearer {remote.key}"
    late = f"the address gave no answer within {timeout_seconds:g} seconds; see whether its server is on, or try again."
    try:
        content = _posted(remote, body, headers, timeout_seconds, late)
    except httpx2.TimeoutException:
        raise ModelError(late) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ModelError(
            f"the address could not be reached ({type(error).__name__}); check it, and whether its server is on."
        ) from None
    return PlaygroundAnswer(shown.kind, shown.internal, (), clean_text(_text_of(content)))


def _posted(remote: RemoteModel, body: bytes, headers: dict[str, str], timeout_seconds: float, late: str) -> bytes:
    """The answer's bytes. Redirects are not followed: they would carry query and key to an address nobody typed."""
    local = (url := _parsed(remote.address)) is not None and url.host in LOOPBACK
    end = time.monotonic() + timeout_seconds  # the library's limit is for each piece of an answer
    with (
        httpx2.Client(timeout=timeout_seconds, follow_redirects=False, trust_env=not local) as client,
        client.stream("POST", remote.endpoint, content=body, headers=headers) as response,
    ):
        if response.status_code != 200:
            reason = _REASONS.get(response.status_code, "see the server's own log, or try again later")
            raise ModelError(f"the address answered with status {response.status_code}: {reason}.")
        received = bytearray()
        for part in response.iter_bytes():
            received += part
            if time.monotonic() > end:
                raise ModelError(late)
            if len(received) > LARGEST_ANSWER_BYTES:
                raise ModelError("the answer is longer than 1 MiB, which no short answer is; check the address.")
    return bytes(received)


def _text_of(content: bytes) -> str:
    """The first choice's text. Raises ModelError for anything else."""
    try:
        found: Any = json.loads(content)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        found = None
    if not isinstance(found, str):
        raise ModelError("the answer is not that of an OpenAI-compatible server; the address usually ends in /v1.")
    return found


def _parsed(address: str) -> httpx2.URL | None:
    try:
        return httpx2.URL(address.strip())
    except (httpx2.InvalidURL, TypeError):
        return None
