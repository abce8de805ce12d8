"""Canaries: plant a row of made-up words, run a mechanism many times, and count which of its words come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpicl_core.charged_runs.internal_view import InternalView
from dpicl_core.errors import DataError
from dpicl_core.evaluation.leakage import longest_shared_run, words_of
from dpicl_core.evaluation.sets import by_token
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.randomness import RandomSource
from dpicl_core.runs import PrivacyRequest
from dpicl_core.specs import require
from dpicl_core.values import Example, GenerationPlan

RUNS = 20
CANARY_WORDS = 8
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """Over `runs` runs with the row planted: runs in which at least one of its words came out, words that came out in
    all (each counted once a demonstration), and the longest run of its words in a row."""

    mechanism: str
    runs: int
    runs_with_words: int
    words_out: int
    longest_run: int


def canary_text(rows: Sequence[Example], *, rng: RandomSource) -> str:
    """CANARY_WORDS made-up words of three syllables, none of which stands in the table."""
    taken = {word for row in rows for word in words_of(row.text)}
    words: list[str] = []
    while len(words) < CANARY_WORDS:
        word = "".join(_CONSONANTS[rng.choose(len(_CONSONANTS))] + _VOWELS[rng.choose(len(_VOWELS))] for _ in range(3))
        if word not in taken:
            taken.add(word)
            words.append(word)
    return " ".join(words)


def plant_and_count(
    view: InternalView,
    plan: GenerationPlan,
    request: PrivacyRequest,
    model: LanguageModel,
    canary: str,
    *,
    runs: int = RUNS,
    progress: Progress | None = None,
) -> CanaryResult:
    """Add one row with the canary's text under the first target label, make so many unpaid runs, forget their texts.

    Words of the canary that stand in the table already are not counted, since they prove nothing. Raises DataError
    where none is left, and as a run does.
    """
    require(runs >= 1, f"canaries need at least one run, but {runs} were asked; usual is {RUNS}.")
    known = {word for row in view.dataset.examples for word in words_of(row.text)}
    telling = [word for word in words_of(canary) if word not in known]
    if not telling:
        raise DataError("every word of the canary stands in the table already; use words that nobody writes.")
    row = Example(plan.target_labels[0], canary)
    with_words = words_out = longest = 0
    for number in range(runs):

        def told(share: float, number: int = number) -> None:
            if progress is not None:
                progress(f"canary in {plan.mechanism.name}", (number + share) / runs)

        record = view.run(plan, request, model, planted=(row,), on_event=by_token(plan, told))
        texts = [made.text for made in record.demonstrations]
        found = [len(set(telling) & set(words_of(text))) for text in texts]
        with_words += any(found)
        words_out += sum(found)
        longest = max(longest, *(longest_shared_run(text, [telling]).words for text in texts))
    return CanaryResult(plan.mechanism.name, runs, with_words, words_out, longest)
