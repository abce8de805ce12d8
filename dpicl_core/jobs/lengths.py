"""Lengths of private rows in tokens: internal numbers for the steward, never exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dpicl_core.jobs.tasks import Tell
from dpicl_core.language_model.protocol import LanguageModel, Tokenizer
from dpicl_core.values import Example

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Label and text together, in tokens: shortest, median, 95th percentile, longest, and rows over the cap."""

    shortest: int
    median: int
    percentile_95: int
    longest: int
    over_cap: int
    cap: int


@dataclass(frozen=True, slots=True)
class LengthsTask:
    """Count the lengths of these rows, at least one, in tokens of a model. cap: the record cap in tokens."""

    examples: tuple[Example, ...] = field(repr=False)
    cap: int

    def run(self, model: LanguageModel, tell: Tell) -> TokenLengths:
        """The lengths."""
        return token_lengths(
            self.examples, self.cap, model.tokenizer, between=lambda share: tell("counting tokens", share)
        )


def token_lengths(
    examples: Sequence[Example],
    cap: int,
    tokenizer: Tokenizer,
    *,
    between: Callable[[float], None] = lambda share: None,
) -> TokenLengths:
    """Measure rows; `between` is given the share done now and then, so that a caller can give up by raising."""
    ordered = sorted(_lengths(examples, tokenizer, between))
    last = len(ordered) - 1
    over = sum(1 for length in ordered if length > cap)
    return TokenLengths(ordered[0], ordered[last // 2], ordered[int(last * 0.95)], ordered[last], over, cap)


def _lengths(examples: Sequence[Example], tokenizer: Tokenizer, between: Callable[[float], None]) -> Iterator[int]:
    labels: dict[str, int] = {}
    for number, example in enumerate(examples):
        if number % _AT_ONCE == 0:
            between(number / len(examples))
        if example.label not in labels:
            labels[example.label] = len(tokenizer.encode(example.label))
        yield labels[example.label] + len(tokenizer.encode(example.text))
