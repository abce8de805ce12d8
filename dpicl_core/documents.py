"""The demonstrations document: its pydantic model, canonical form and hash. Holds public and released values alone."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

FORMAT_NAME = "dpicl-demonstrations"
SCHEMA_VERSION = 1

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

SelectionBasis = Literal[
    "from the released texts; no internal view is recorded before approval",
    "informed by private data, not covered by the guarantee",
]
SELECTION_FROM_RELEASED: SelectionBasis = "from the released texts; no internal view is recorded before approval"
SELECTION_INFORMED: SelectionBasis = "informed by private data, not covered by the guarantee"


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
    """One synthetic demonstration. tokens: released for it, before any edit. ended_by: an ending token, the token limit
    T_max, or the end of a run that was closed early."""

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
    grouping: subsets drawn afresh at every token, or groups fixed for the run; files without it were made afresh.
    """

    target_labels: list[str]
    subsets: Count
    per_subset: Count
    tokens: Count
    vocabulary: Count
    record_tokens: Count
    min_tokens: Count
    grouping: Literal["fresh", "fixed"] = "fresh"

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A file that lacks `grouping` goes on lacking it, so that its hash stands."""
        content: dict[str, Any] = handler(self)
        if "grouping" not in self.model_fields_set:
            del content["grouping"]
        return content


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


class DecisionPart(_Part):
    """What the reviewer decided about one released demonstration, counted from 1 in the order of the run.

    released_sha256: of the text as it was released, UTF-8; the ledger keeps that text. reason: why it was rejected, or
    what was changed.
    """

    demonstration: Annotated[int, Field(ge=1)]
    label: str
    decision: Literal["approved", "edited", "rejected"]
    reason: str | None
    released_sha256: Digest


class ViewPart(_Part):
    """Something internal, not DP, that the ledger records as opened before approval. at: UTC."""

    at: str
    view: str


class BudgetPart(_Part):
    """The data asset's budget in the ledger when the file was signed; the file alone cannot prove it.

    epsilon_spent: at delta, over all runs so far, whatever plans come next. share_left: of the budget, by the label
    that has spent most.
    """

    asset: str
    epsilon: Positive
    delta: Probability
    rule: Literal["renyi", "sum"]
    epsilon_spent: NonNegative
    share_left: Annotated[float, Field(ge=0, le=1)]


class VettingPart(_Part):
    """A named person's sign-off. decisions: one for each demonstration that was released; what was rejected is left out
    of the file and stays paid. selection: whether anything internal had been opened before. signed: UTC."""

    reviewer: Annotated[str, Field(min_length=1)]
    signed: str
    justification: Annotated[str, Field(min_length=1)]
    selection: SelectionBasis
    internal_views: list[ViewPart]
    decisions: Annotated[list[DecisionPart], Field(min_length=1)]
    budget: BudgetPart


class DemonstrationsDocument(_Part):
    """The whole file. run: its id in the ledger that paid for it. vetting: left out of a file that nobody has signed.
    sha256 is over the canonical form of everything else."""

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
    vetting: VettingPart | None = None
    sha256: str

    @model_serializer(mode="wrap")
    def _without_absent_vetting(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Files that nobody signed keep the bytes, and so the hash, that they had before there was vetting."""
        content: dict[str, Any] = handler(self)
        if self.vetting is None:
            del content["vetting"]
        return content


def canonical_bytes(content: dict[str, Any]) -> bytes:
    """Canonical form: every key but sha256, keys sorted, no blanks, UTF-8, numbers as Python's repr writes them."""
    covered = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def canonical_hash(content: dict[str, Any]) -> str:
    """SHA-256 of the canonical form, hexadecimal."""
    return hashlib.sha256(canonical_bytes(content)).hexdigest()


def text_hash(text: str) -> str:
    """SHA-256 of one text, UTF-8, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
