"""Checks a demonstrations file without its makers: schema, hash, and both epsilons from the parameters in the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ValidationError

from dpicl_core import accounting
from dpicl_core.documents import DemonstrationsDocument, PoolPart, VettingPart, canonical_hash
from dpicl_core.errors import DPICLError, ExportError
from dpicl_core.export import guarantee_sentence
from dpicl_core.planning import mechanism_named
from dpicl_core.rounding import percent_left, rounded_up
from dpicl_core.sampling import Grouping, sampling_rate
from dpicl_core.specs import MechanismSpec
from dpicl_core.values import NeighbouringRelation, Price
from dpicl_core.vetting import vetting_problems
from dpicl_core.vetting.decisions import informed, summary

RELATIVE_TOLERANCE = 1e-6
"""Two machines may differ in the last digits of an epsilon; more than this is a contradiction."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found: problems in plain words (none means the file holds what it says), and the prices recomputed."""

    document: DemonstrationsDocument
    problems: tuple[str, ...]
    prices: tuple[Price, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


def read_document(content: bytes) -> DemonstrationsDocument:
    """Strict parse. Raises ExportError in one sentence where the bytes are not such a file."""
    try:
        loaded = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ExportError(
            "the file is not strict JSON in UTF-8, so it is no demonstrations file; ask its makers for it again."
        ) from None
    try:
        return DemonstrationsDocument.model_validate(loaded)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the top level"
        raise ExportError(
            f"the file does not fit the demonstrations schema: at {place}, {first['msg'].lower()}; "
            f"{error.error_count()} such places were found. Ask its makers for it again."
        ) from None


def verify(document: DemonstrationsDocument) -> Verdict:
    """Recompute everything that the file claims; every contradiction becomes a sentence."""
    problems = list(_hash_problems(document))
    prices: tuple[Price, ...] = ()
    try:
        prices = _recompute(document)
    except DPICLError as error:
        problems.append(f"the parameters are not valid: {str(error).rstrip('.')}")
    for pool, price in zip(document.pools, prices, strict=False):
        problems.extend(_pool_problems(document, pool, price))
    problems.extend(_run_problems(document))
    problems.extend(vetting_problems(document))
    return Verdict(document, tuple(problems), prices)


def recomputed_line(verdict: Verdict) -> str:
    """Both epsilons, as found from the parameters in the file."""
    tight = max((price.epsilon_tight for price in verdict.prices), default=0.0)
    paper = max((price.epsilon_paper for price in verdict.prices), default=0.0)
    return (
        f"Recomputed from the parameters in the file: epsilon {rounded_up(tight, 4)} by the tight accountant, "
        f"{rounded_up(paper, 4)} by the paper's, at delta {verdict.document.guarantee.delta:g}."
    )


def budget_line(vetting: VettingPart) -> str:
    """What the data asset had spent and left, rounded against the one who spends."""
    budget = vetting.budget
    spent = math.ceil(budget.epsilon_spent * 1000 - 1e-9) / 1000
    how = (
        ""
        if budget.rule == "sum"
        else " (the rule of this budget counts a first run as somewhat more than its own epsilon and later ones as "
        "much less, so more is left than the difference)"
    )
    return (
        f'Budget of data asset "{budget.asset}" for all runs together: epsilon {budget.epsilon:g} at delta '
        f"{budget.delta:g}. By the ledger, when the file was signed: everything spent so far has epsilon {spent:g}, "
        f"and {percent_left(budget.share_left)} of the budget was left{how}. The file alone cannot prove this."
    )


def plain_words(verdict: Verdict) -> str:
    """What a file that holds guarantees, one statement a line."""
    document = verdict.document
    lines = [
        f"The file holds: {len(document.demonstrations)} demonstrations by {document.mechanism.name}, "
        f"written {document.created} with {document.model.name}.",
        document.guarantee.sentence,
        recomputed_line(verdict),
        *_signed_words(document),
        "Not covered: " + "; ".join(document.guarantee.not_covered) + ".",
        f"SHA-256 of its contents: {document.sha256}.",
        "The hash shows accidental changes; it is no signature, so it does not show who wrote the file.",
    ]
    lines += [f"Shortfall: {line}." for line in document.shortfalls]
    return "".join("".join(c if c.isprintable() else " " for c in line) + "\n" for line in lines)


def _signed_words(document: DemonstrationsDocument) -> list[str]:
    vetting = document.vetting
    if vetting is None:
        return ["Nobody has signed it: no person is named who looked at the texts."]
    return [
        f"Signed by {vetting.reviewer} on {vetting.signed}: {summary(vetting)}. What was rejected stays paid.",
        f"Why this epsilon, in the reviewer's words: {vetting.justification}",
        f"selection: {vetting.selection}",
        budget_line(vetting),
    ]


def _recompute(document: DemonstrationsDocument) -> tuple[Price, ...]:
    """Prices of all pools from the parameters, by the rule that the neighbouring relation asks for."""
    drawn, delta = document.plan.subsets * document.plan.per_subset, document.guarantee.delta
    specs = [spec_from(document.mechanism.name, pool.parameters) for pool in document.pools]
    if labels_may_change(document) and all(spec.reads_private_rows for spec in specs):
        labels = [str(pool.label) for pool in document.pools]
        bounds = {label: pool.units for label, pool in zip(labels, document.pools, strict=True)}
        charges = accounting.label_change_charges(
            dict(zip(labels, specs, strict=True)),
            lower_bounds=bounds,
            units_per_token=drawn,
            composed_tokens={label: pool.composed_tokens for label, pool in zip(labels, document.pools, strict=True)},
            group_size=_group_size(document),
        )
        return accounting.price_label_change(charges, lower_bounds=bounds, delta=delta)
    return tuple(
        accounting.price(
            spec,
            label=pool.label,
            pool_units=pool.units,
            units_per_token=drawn,
            composed_tokens=pool.composed_tokens,
            delta=delta,
            group_size=_group_size(document),
        )
        for spec, pool in zip(specs, document.pools, strict=True)
    )


def _group_size(document: DemonstrationsDocument) -> int | None:
    """N where the file says that groups were fixed for the run, None where subsets were drawn afresh."""
    return document.plan.per_subset if document.plan.grouping == Grouping.FIXED.value else None


def labels_may_change(document: DemonstrationsDocument) -> bool:
    """Fixed labels under the relation that replaces any unit by any other."""
    any_for_any = document.guarantee.neighbouring_relation == NeighbouringRelation.REPLACE_ONE_ANY.value
    return any_for_any and not document.task.open_labels


def spec_from(name: str, parameters: dict[str, Any]) -> MechanismSpec:
    """The spec that a document names. Raises ConfigError or ExportError where the parameters do not fit it."""
    kind = type(mechanism_named(name))
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()})
    except TypeError:
        raise ExportError(
            f"the parameters do not belong to mechanism {name}; the file was put together wrongly."
        ) from None


def _hash_problems(document: DemonstrationsDocument) -> Iterable[str]:
    found = canonical_hash(document.model_dump(mode="json"))
    if found != document.sha256:
        yield (
            f"the file was changed after it was written: its contents hash to {found[:16]}..., "
            f"but it states {document.sha256[:16] or 'nothing'}..."
        )


def _pool_problems(document: DemonstrationsDocument, pool: PoolPart, price: Price) -> Iterable[str]:
    stated = (("tight", pool.epsilon.tight, price.epsilon_tight), ("paper", pool.epsilon.paper, price.epsilon_paper))
    for accountant, said, found in stated:
        if not math.isclose(said, found, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12):
            direction = "too little" if said < found else "more than it costs"
            yield (
                f"{_named(pool)}: the parameters give epsilon {found:.6g} by the {accountant} accountant, "
                f"but the file states {said:.6g}, which is {direction}"
            )
    drawn = document.plan.subsets * document.plan.per_subset
    size = _group_size(document)
    rate = sampling_rate(pool.units, drawn, size) if price.mechanism.reads_private_rows else 0.0
    if not math.isclose(pool.sampling_rate, rate, rel_tol=RELATIVE_TOLERANCE):
        rule = "M*N/units" if size is None else "M/floor(units/N)"
        yield f"{_named(pool)}: the sampling rate is stated as {pool.sampling_rate:.6g}, but {rule} is {rate:.6g}"
    if pool.noise_multipliers != price.mechanism.noise_multipliers() or pool.sigma_eff != price.mechanism.sigma_eff:
        yield f"{_named(pool)}: the noise multipliers are not those of the parameters"


def _run_problems(document: DemonstrationsDocument) -> Iterable[str]:
    guarantee, plan = document.guarantee, document.plan
    for accountant in ("tight", "paper"):
        worst = max((getattr(pool.epsilon, accountant) for pool in document.pools), default=0.0)
        if not math.isclose(getattr(guarantee.epsilon, accountant), worst, rel_tol=RELATIVE_TOLERANCE):
            yield (
                f"the guarantee states epsilon {getattr(guarantee.epsilon, accountant):.6g} by the {accountant} "
                f"accountant, but its most expensive label costs {worst:.6g}"
            )
    relation = NeighbouringRelation(guarantee.neighbouring_relation)
    open_labels = document.task.open_labels
    needed = {None: len(plan.target_labels)} if open_labels else _uses(plan.target_labels)
    priced = {pool.label: pool.composed_tokens for pool in document.pools}
    for label, uses in needed.items():
        if priced.get(label, 0) < uses * plan.tokens:
            yield (
                f"{'all rows' if label is None else 'label ' + label}: {uses} demonstrations of {plan.tokens} tokens "
                f"need {uses * plan.tokens} tokens composed, but {priced.get(label, 0)} were priced"
            )
    made = _uses([d.label for d in document.demonstrations])
    asked = _uses(plan.target_labels)
    if any(count > asked.get(label, 0) for label, count in made.items()):
        yield "the file holds more demonstrations of a label than its plan paid for"
    if any(d.tokens > plan.tokens for d in document.demonstrations):
        yield "a demonstration is longer than the token limit that was paid for"
    if open_labels and relation is not NeighbouringRelation.REPLACE_ONE_ANY:
        yield "the neighbouring relation does not fit the task's labels"
    sentence = guarantee_sentence(
        guarantee.epsilon.tight, guarantee.delta, guarantee.unit, relation, informed=informed(document.vetting)
    )
    if guarantee.sentence != sentence:
        yield "the guarantee in words does not say what the numbers say"


def _uses(labels: Iterable[str]) -> dict[str | None, int]:
    counts: dict[str | None, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    return counts


def _named(pool: PoolPart) -> str:
    return "all rows" if pool.label is None else f"label {pool.label}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
