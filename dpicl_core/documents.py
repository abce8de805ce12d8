"""The demonstrations document: its pydantic model, canonical form and hash. Holds public and released values alone."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT_NAME = "dpicl-demonstrations"
SCHEMA_VERSION = 1

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(gt=0, lt=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TaskPart(_Part):
    """Public facts of the task; labels byte for byte."""

    name: str
    title: str
    instruction: str
    generation_label_header: str
    generation_text_header: str
    icl_instruction: str
    icl_text_header: str
    icl_label_header: str
    labels: list[str]
    open_labels: bool


class PromptsPart(_Part):
    """Both prompts as a person reads them, placeholders in braces."""

    generation: str
    icl: str


class DemonstrationPart(_Part):
    """One synthetic demonstration. ended_by: an ending token, the token limit T_max, or the end of a run that was
    closed early."""

    label: str
    text: str
    tokens: Count
    ended_by: Literal["ending-token", "token-limit", "stopped"]


class EpsilonPart(_Part):
    """Privacy loss epsilon at the stated delta by both accountants; each is an upper bound."""

    tight: NonNegative
    paper: NonNegative


class GuaranteePart(_Part):
    """What is promised, to whom, and by which accountant the noise was calibrated."""

    sentence: str
    unit: Literal["row", "person"]
    neighbouring_relation: Literal["replace-one-same-label", "replace-one-any"]
    epsilon_requested: Positive | None
    accountant: Literal["tight", "paper"]
    epsilon: EpsilonPart
    delta: Probability
    not_covered: list[str]


class MechanismPart(_Part):
    """Name and how a released vector became a token."""

    name: str
    selection: Literal["argmax", "sample"]
    temperature: Positive | None
    top_p: Annotated[float, Field(gt=0, le=1)] | None


class PlanPart(_Part):
    """Public numbers of the run: M subsets of N units, T_max tokens, K candidates, caps in tokens.

    target_labels: one per demonstration that was asked and paid for, in order.
    """

    target_labels: list[str]
    subsets: Count
    per_subset: Count
    tokens: Count
    vocabulary: Count
    record_tokens: Count
    min_tokens: Count


class PoolPart(_Part):
    """One pool's price. label is null where all rows are one pool."""

    label: str | None
    units: Count
    sampling_rate: Annotated[float, Field(ge=0, le=1)]
    composed_tokens: Count
    parameters: dict[str, Any]
    noise_multipliers: dict[str, Positive]
    sigma_eff: Positive | None
    epsilon: EpsilonPart


class ModelFilePart(_Part):
    role: str
    name: str
    sha256: str
    size_bytes: Count


class ModelPart(_Part):
    """The language model that wrote the texts, by file hash."""

    name: str
    source: str
    dtype: str
    device: str
    parameters: Count
    files: list[ModelFilePart]


class DemonstrationsDocument(_Part):
    """The whole file. run: its id in the ledger that paid for it. sha256 is over the canonical form of everything
    else."""

    format: Literal["dpicl-demonstrations"] = "dpicl-demonstrations"
    schema_version: Literal[1] = 1
    private: Literal[True] = True
    task: TaskPart
    prompts: PromptsPart
    demonstrations: list[DemonstrationPart]
    shortfalls: list[str]
    guarantee: GuaranteePart
    mechanism: MechanismPart
    plan: PlanPart
    pools: list[PoolPart]
    model: ModelPart
    versions: dict[str, str]
    run: str | None = None
    created: str
    sha256: str


def canonical_bytes(content: dict[str, Any]) -> bytes:
    """Canonical form: every key but sha256, keys sorted, no blanks, UTF-8, numbers as Python's repr writes them."""
    covered = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def canonical_hash(content: dict[str, Any]) -> str:
    """SHA-256 of the canonical form, hexadecimal."""
    return hashlib.sha256(canonical_bytes(content)).hexdigest()
