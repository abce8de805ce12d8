"""The token loop: fresh draws, fresh noise, public candidates, atomic tokens, no trace of a private row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dpicl_core.errors import ConfigError, ModelError
from dpicl_core.events import DemonstrationFinished, RunFinished, RunStarted, TokenReleased
from dpicl_core.generation import generate
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import plan_for
from dpicl_core.randomness import SecretRandomness, SeededRandomness
from dpicl_core.sampling import Grouping
from dpicl_core.specs import AdaDPSynSpec, AnchoredSpec, PublicOnlySpec, TangGaussianSpec, TangNoisyMaxSpec
from dpicl_core.values import Example, Pool, Price, Selection
from tests.support.sources import RecordingRandomness
from tests.support.tables import ANIMALS, animal_pools, animal_rows

SPECS = (
    AdaDPSynSpec(sigma0=5, sigma1=0.3, sigma2=2, iterations=2),
    TangGaussianSpec(sigma=0.3),
    TangNoisyMaxSpec(epsilon0=4.0),
    AnchoredSpec(sigma1=0.3),
    PublicOnlySpec(),
)


def priced(plan, pools):
    return [
        Price(
            label=label,
            mechanism=plan.mechanism,
            pool_units=len(pools[label]),
            sampling_rate=plan.sampling_rate(len(pools[label])) if plan.mechanism.reads_private_rows else 0.0,
            composed_tokens=plan.composed_tokens(label),
            delta=1e-5,
            epsilon_tight=1.0,
            epsilon_paper=2.0,
        )
        for label in plan.pool_labels()
    ]


def run(plan, pools, model=None, rng=None, **hooks):
    return list(
        generate(plan, priced(plan, pools), pools, model or ToyModel(), rng=rng or SeededRandomness(1), **hooks)
    )


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_mechanism_yields_whole_demonstrations_with_events_in_order(spec):
    plan = plan_for(ANIMALS, spec, shots=3)
    events = run(plan, animal_pools(animal_rows()))
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    finished = events[-1].demonstrations
    assert [d.label for d in finished] == ["cat", "dog", "cat"]
    for demonstration in finished:
        tokens = [e for e in events if isinstance(e, TokenReleased) and e.demonstration == demonstration.demonstration]
        assert tuple(t.token_id for t in tokens) == demonstration.token_ids
        assert [t.position for t in tokens] == list(range(len(tokens)))
        assert demonstration.text
        assert demonstration.ended_by == ("ending-token" if tokens[-1].ends else "token-limit")


def test_draws_differ_between_tokens_and_every_draw_is_without_replacement():
    rng = RecordingRandomness(5)
    plan = plan_for(ANIMALS, SPECS[0], shots=4, grouping=Grouping.FRESH)
    events = run(plan, animal_pools(animal_rows()), rng=rng)
    tokens = sum(isinstance(e, TokenReleased) for e in events)
    assert len(rng.draws) == tokens
    assert len(set(rng.draws)) == tokens
    assert all(len(set(draw)) == plan.units_per_token for draw in rng.draws)


def test_noise_differs_between_tokens_and_between_queries():
    rng = RecordingRandomness(6)
    plan = plan_for(ANIMALS, SPECS[0], shots=4)
    run(plan, animal_pools(animal_rows()), rng=rng)
    values = [value for noise in rng.noises for value in noise]
    assert len(values) > 500
    assert len(set(values)) == len(values)


def test_the_queries_of_a_token_never_exceed_what_the_spec_prices():
    rng = RecordingRandomness(7)
    spec = AdaDPSynSpec(sigma0=0.01, sigma1=0.01, sigma2=0.01, iterations=3)
    per_token = {query.name: query.count for query in spec.queries()}
    seen: list[int] = []
    run(
        plan_for(ANIMALS, spec, shots=2),
        animal_pools(animal_rows()),
        rng=rng,
        commit=lambda token: seen.append(len(rng.queries)),
    )
    starts = [0, *seen[:-1]]
    for start, end in zip(starts, seen, strict=True):
        kinds = [kind for kind, _ in rng.queries[start:end]]
        assert kinds.count("vector") <= per_token["sigma1"]
        assert kinds.count("scalar") <= per_token["sigma0"] + per_token["sigma2"]
        assert kinds[:6] == ["scalar"] * 6


def test_secret_runs_with_the_same_inputs_draw_differently():
    drawn = [SecretRandomness().draw(10_000, 20) for _ in range(3)]
    assert len(set(drawn)) == 3


def public_view(rows):
    """S, q and labels of every token of a run whose released tokens are forced to be equal (public-only)."""
    seen = []
    plan = plan_for(ANIMALS, PublicOnlySpec(), shots=2)
    events = run(plan, animal_pools(rows), observe=lambda d: seen.append((d.candidates.tolist(), d.public.tolist())))
    return seen, [e.label for e in events if isinstance(e, DemonstrationFinished)]


def first_token_view(rows, seed):
    """S and q of the first token of each demonstration, which no released token precedes, in a private run."""
    seen = []
    plan = plan_for(ANIMALS, TangGaussianSpec(sigma=0.1), shots=2)
    run(
        plan,
        animal_pools(rows),
        rng=SeededRandomness(seed),
        observe=lambda d: seen.append((d.position, d.candidates.tolist(), d.public.tolist())),
    )
    return [entry for entry in seen if entry[0] == 0]


def test_candidates_public_vector_and_labels_are_identical_for_neighbouring_tables():
    rows = animal_rows()
    neighbour = [Example("cat", "zebra " * 400), *rows[1:]]
    assert public_view(rows) == public_view(neighbour)
    assert first_token_view(rows, 1) == first_token_view(neighbour, 2)


def test_other_rows_probabilities_are_bit_identical_when_one_row_grows():
    rows = animal_rows(8 * 2)
    grown = [Example("cat", rows[0].text + " and more" * 50), *rows[1:]]
    views = []
    for table in (rows, grown):
        seen: list[np.ndarray] = []
        plan = plan_for(ANIMALS, TangGaussianSpec(sigma=0.1), shots=1, targets=["cat"], subsets=8, per_subset=1)
        run(
            plan,
            animal_pools(table),
            rng=SeededRandomness(9),
            observe=lambda d, seen=seen: seen.append(d.probabilities),
        )
        views.append(seen[0])
    moved = [not np.array_equal(a, b) for a, b in zip(*views, strict=True)]
    assert sum(moved) == 1


def test_widths_of_every_prompt_are_the_same_whatever_the_rows_hold():
    shapes = []
    for rows in (animal_rows(), [Example(r.label, "x" * (i * 37 % 900)) for i, r in enumerate(animal_rows())]):
        seen = []
        model = ToyModel(observer=lambda kind, prompts, seen=seen: seen.extend((kind, p.widths) for p in prompts))
        run(plan_for(ANIMALS, PublicOnlySpec(), shots=2), animal_pools(rows), model=model)
        run(plan_for(ANIMALS, TangGaussianSpec(sigma=0.1), shots=1, tokens=2), animal_pools(rows), model=model)
        shapes.append(seen[:14])
    assert shapes[0] == shapes[1]


def test_released_ids_are_appended_and_never_encoded_again():
    tails = []
    model = ToyModel(
        observer=lambda kind, prompts: tails.append(prompts[0].blocks[-1].ids) if kind == "public" else None
    )
    events = run(plan_for(ANIMALS, SPECS[1], shots=1), animal_pools(animal_rows()), model=model)
    released = [e.token_id for e in events if isinstance(e, TokenReleased)]
    start = tails[0]
    assert [tail[len(start) :] for tail in tails] == [tuple(released[:i]) for i in range(len(released))]


def test_rows_that_are_not_finite_become_the_public_row_and_leave_no_mark_on_the_events():
    plan = plan_for(ANIMALS, TangGaussianSpec(sigma=0.2), shots=1)
    seen = []
    model = ToyModel(fails_on=lambda prompt: True)
    events = run(plan, animal_pools(animal_rows()), model=model, observe=seen.append)
    assert all(d.unusable_rows == plan.subsets for d in seen)
    assert all(np.array_equal(row, d.public) for d in seen for row in d.probabilities)
    assert isinstance(events[-1], RunFinished)
    healthy = run(plan, animal_pools(animal_rows()))
    assert {type(e) for e in events} == {type(e) for e in healthy}
    fields = [f.name for e in events for f in dataclasses.fields(e)]
    assert not any("unusable" in name for name in fields)


def test_a_token_whose_commit_fails_is_never_yielded():
    committed = []

    def commit(token):
        if len(committed) == 3:
            raise ModelError("no room")
        committed.append(token)

    plan = plan_for(ANIMALS, SPECS[1], shots=1)
    pools = animal_pools(animal_rows())
    shown = []
    events = generate(plan, priced(plan, pools), pools, ToyModel(), rng=SeededRandomness(1), commit=commit)
    with pytest.raises(ModelError):
        shown.extend(events)
    assert [e for e in shown if isinstance(e, TokenReleased)] == committed


def test_a_fault_inside_a_step_is_reported_without_its_message():
    secret = "Anna Muster of ward nine"

    def fails(prompt):
        raise RuntimeError(secret)

    with pytest.raises(ModelError) as caught:
        run(plan_for(ANIMALS, SPECS[1], shots=1), animal_pools(animal_rows()), model=ToyModel(fails_on=fails))
    assert secret not in str(caught.value)
    assert caught.value.__suppress_context__


def test_public_only_never_asks_for_a_private_row():
    asked = []
    model = ToyModel(observer=lambda kind, prompts: asked.append(kind))
    rng = RecordingRandomness(1)
    run(plan_for(ANIMALS, PublicOnlySpec(), shots=2), animal_pools(animal_rows()), model=model, rng=rng)
    assert set(asked) == {"public"}
    assert rng.draws == []


def test_a_run_cannot_start_under_a_price_made_for_another_plan():
    pools = animal_pools(animal_rows())
    plan = plan_for(ANIMALS, SPECS[1], shots=2)
    cheap = priced(plan_for(ANIMALS, SPECS[1], shots=2, tokens=3), pools)
    with pytest.raises(ConfigError):
        next(generate(plan, cheap, pools, ToyModel(), rng=SeededRandomness(1)))
    smaller = {label: Pool(label, pool.units[:-1]) for label, pool in pools.items()}
    with pytest.raises(ConfigError):
        next(generate(plan, priced(plan, pools), smaller, ToyModel(), rng=SeededRandomness(1)))


def test_a_person_gives_one_of_her_rows_and_counts_once():
    units = tuple(tuple(Example("cat", f"person {p} row {r}") for r in range(1 + p % 3)) for p in range(12))
    pools = {"cat": Pool("cat", units)}
    rng = RecordingRandomness(3)
    run(plan_for(ANIMALS, SPECS[1], shots=1, targets=["cat"], grouping=Grouping.FRESH), pools, rng=rng)
    assert all(len(set(draw)) == 8 and max(draw) < 12 for draw in rng.draws)


def test_sampling_from_the_released_vector_changes_the_choice_and_never_leaves_the_nucleus():
    seen = []
    plan = plan_for(ANIMALS, SPECS[3], shots=4, selection=Selection(sample=True, top_p=0.5))
    events = run(plan, animal_pools(animal_rows()), observe=seen.append)
    tokens = [e for e in events if isinstance(e, TokenReleased)]
    argmaxes = []
    for diagnostics, token in zip(seen, tokens, strict=True):
        vector = diagnostics.means[-1]
        chosen = int(np.nonzero(diagnostics.candidates == token.token_id)[0][0])
        argmaxes.append(chosen == int(np.argmax(vector)))
        better = vector[vector > vector[chosen]].sum()
        assert better < 0.5
    assert not all(argmaxes)


def test_noisy_max_cannot_be_sampled_from():
    with pytest.raises(ConfigError, match="no vector"):
        plan_for(ANIMALS, TangNoisyMaxSpec(), selection=Selection(sample=True))
