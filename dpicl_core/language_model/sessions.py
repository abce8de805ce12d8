"""One run's way of asking a model: all demonstrations at once, and states kept from one token to the next.

A model may offer a session; where it has none, a run asks it prompt by prompt through `LanguageModel`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpicl_core.values import TokenPrompt

DEFAULT_CACHE_BYTES = 2 * 2**30
"""Memory for kept states of rows."""


@dataclass(frozen=True, slots=True)
class PublicRequest:
    """The public prompt of one demonstration at one token."""

    demonstration: int
    prompt: TokenPrompt


@dataclass(frozen=True, slots=True)
class RowRequest:
    """M private prompts of one demonstration at one token, and the K candidate ids.

    groups: M names, or None where subsets are fresh. Within a session the examples of a name are always the same, and
    the last block of a demonstration's prompts only grows. A name says which group was drawn, never what it holds.
    """

    demonstration: int
    prompts: tuple[TokenPrompt, ...] = field(repr=False)
    ids: NDArray[np.int64]
    groups: tuple[Hashable, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SessionSize:
    """Public bounds of a run, in tokens: what the states of these take.

    public_tokens: all public prompts. rows_tokens: the examples of all groups; 0 where subsets are fresh, since no
    row comes back then. step_tokens: the examples that one demonstration draws for a token. text_tokens: the texts of
    all rows of a step. saved_share: of the tokens of all rows, the share that need not be computed, and missing_rows:
    the groups a step whose examples must be; both on average over draws and steps, where everything can be kept.
    """

    public_tokens: int
    rows_tokens: int = 0
    step_tokens: int = 0
    text_tokens: int = 0
    saved_share: float = 1.0
    missing_rows: float = 1.0


class Session(Protocol):
    """What both promises of `protocol` bind as well; shapes may also depend on which groups were drawn, and when."""

    def public_logits(self, requests: Sequence[PublicRequest]) -> list[NDArray[np.float64]]:
        """Next-token logits (V,) for each request; errors as `LanguageModel.public_logits`."""

    def private_probabilities(self, requests: Sequence[RowRequest]) -> list[NDArray[np.float64]]:
        """Probabilities (M, K) for each request; NaN rows and errors as `LanguageModel.private_probabilities`."""


@runtime_checkable
class SessionModel(Protocol):
    """A language model that can keep states between tokens."""

    def session(self, size: SessionSize) -> Session:
        """A new session for one run."""


def open_session(model: object, size: SessionSize) -> Session | None:
    """The model's session for one run, or None where it has none."""
    return model.session(size) if isinstance(model, SessionModel) else None
