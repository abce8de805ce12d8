"""ROC curves by hand, an attack that must succeed and one that cannot, and the ceiling against closed forms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from dpicl_core.accounting import composed_loss
from dpicl_core.errors import DataError
from dpicl_core.evaluation import (
    AttackOptions,
    area_under_scores,
    attack_on_demonstrations,
    attack_on_real_rows,
    ceiling,
    proven_loss,
)
from dpicl_core.evaluation.membership import true_label_scores
from dpicl_core.evaluation.roc import curve_of_scores, mean_curve
from dpicl_core.export import document_for
from dpicl_core.randomness import SeededRandomness
from dpicl_core.specs import TangGaussianSpec
from dpicl_core.values import Example
from tests.evaluation.fake_scorer import FakeScorer, query_of
from tests.support.runs import finished_run
from tests.support.tables import ANIMALS, animal_pools, animal_rows

MEMBERS, OTHERS = (
    animal_pools(animal_rows(40)),
    animal_pools([Example(e.label, f"x {e.text}") for e in animal_rows(40)]),
)
OPTIONS = AttackOptions(trials=4, rows=10)


def remembers(prompt, answer):
    """A model that is sure of the label where the query's text stands in the prompt already, and guesses otherwise."""
    sure = prompt.count(query_of(prompt)) > 1
    right = "cat" if "cat" in query_of(prompt) else "dog"
    return (0.9 if answer == right else 0.1) if sure else 0.5


def test_the_area_is_the_share_of_pairs_in_order_and_ties_count_half():
    # pairs: 0.9 beats both, 0.4 beats 0.1 and ties with 0.4: (2 + 1.5) / 4
    assert area_under_scores([0.9, 0.4], [0.4, 0.1]) == 0.875
    assert area_under_scores([0.2], [0.2]) == 0.5
    assert area_under_scores([1.0], [0.0]) == 1.0
    assert area_under_scores([0.0], [1.0]) == 0.0


def test_the_curve_has_a_corner_for_every_score_and_its_area_is_the_same():
    curve = curve_of_scores([0.9, 0.4], [0.4, 0.1])
    assert list(zip(curve.false_positive, curve.true_positive, strict=True)) == [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]
    assert np.trapezoid(curve.true_positive, curve.false_positive) == curve.area == 0.875
    assert curve.at(0) == 0.5  # found before the first wrong one
    assert curve.at(0.25) == 0.75


def test_curves_are_averaged_at_equal_false_positive_rates():
    mean = mean_curve([curve_of_scores([1.0], [0.0]), curve_of_scores([0.0], [1.0])])
    assert (mean.at(0), mean.at(0.5), mean.at(1), mean.area) == (0.5, 0.5, 1, 0.5)


def test_a_real_row_in_the_prompt_of_a_model_that_remembers_is_found_every_time():
    attack = attack_on_real_rows(ANIMALS, 6, MEMBERS, OTHERS, FakeScorer(remembers), OPTIONS, rng=SeededRandomness(1))
    assert (attack.area.value, attack.area.low, attack.area.high, attack.trials) == (1.0, 1.0, 1.0, 6)


def test_a_demonstration_that_repeats_one_of_twenty_members_gives_away_that_one_alone():
    # of 20 cats one stands in the prompt: it beats all, the other 19 tie: (1 + 19 / 2) / 20
    pair = (MEMBERS["cat"].units[3][0].text, "cat")
    attack = attack_on_demonstrations(
        "copied", ANIMALS, [pair], MEMBERS, OTHERS, FakeScorer(remembers), AttackOptions(3, 20), rng=SeededRandomness(1)
    )
    assert attack.area.value == pytest.approx(0.525)
    assert attack.curve.at(0) == pytest.approx(0.05)


def test_a_text_of_nobody_leaves_guessing_and_only_rows_of_its_own_label_are_asked():
    scorer = FakeScorer(remembers)
    attack = attack_on_demonstrations(
        "new", ANIMALS, [("nobody wrote this", "dog")], MEMBERS, OTHERS, scorer, OPTIONS, rng=SeededRandomness(1)
    )
    assert attack.area.value == 0.5
    assert all("dog number" in query_of(prompt) for prompt in scorer.asked)
    assert len(scorer.asked) == len(set(scorer.asked))  # a row that comes again is not asked again


def test_scores_are_the_true_labels_share_or_the_whole_open_labels_probability():
    rows = [Example("dog", "a dog")]
    scorer = FakeScorer(lambda prompt, answer: 0.03 if answer == "dog" else 0.01)
    assert true_label_scores(ANIMALS, (), rows, scorer) == pytest.approx([0.75])
    open_task = replace(ANIMALS, open_labels=True)
    assert true_label_scores(open_task, (), rows, FakeScorer(lambda p, a: 0.03)) == pytest.approx([0.03])


def test_a_label_without_rows_is_one_sentence():
    with pytest.raises(DataError, match="nobody to tell apart"):
        attack_on_demonstrations(
            "x", ANIMALS, [("t", "dog")], MEMBERS, {"cat": OTHERS["cat"]}, FakeScorer(remembers), OPTIONS,
            rng=SeededRandomness(1),
        )  # fmt: skip


@dataclass(frozen=True)
class PureLoss:
    """Randomised response: (eps0, 0)-DP exactly, delta(eps) = max(0, (e^eps0 - e^eps) / (1 + e^eps0))."""

    eps0: float

    def delta(self, epsilon):
        if epsilon >= self.eps0:
            return 0.0
        if epsilon <= -self.eps0:
            return -math.expm1(epsilon)
        return (math.exp(self.eps0) - math.exp(epsilon)) / (1 + math.exp(self.eps0))

    def epsilon(self, delta):
        return self.eps0


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_the_ceiling_of_randomised_response_is_its_own_curve(eps0):
    # corners (0, 0), (1/(1+e), e/(1+e)), (1, 1): the area is e / (1 + e)
    odds = math.exp(eps0)
    found = ceiling(PureLoss(eps0))
    assert found.area == pytest.approx(odds / (1 + odds), abs=2e-3)
    assert found.area >= odds / (1 + odds) - 1e-9
    assert found.at(1 / (1 + odds)) == pytest.approx(odds / (1 + odds), rel=1e-2)


@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_the_ceiling_of_one_gaussian_release_is_the_gaussian_curve_from_above(sigma):
    loss = composed_loss(TangGaussianSpec(sigma=sigma), sampling_rate=1.0, composed_tokens=1, delta=1e-5)
    exact = stats.norm.cdf(1 / sigma / math.sqrt(2))
    found = ceiling(loss)
    assert exact <= found.area <= exact + 3e-3
    for rate in (0.01, 0.1, 0.5):
        best = stats.norm.cdf(stats.norm.ppf(rate) + 1 / sigma)
        assert best <= found.at(rate) <= best + 1e-2


def test_no_loss_gives_guessing_and_no_protection_gives_everything():
    public = proven_loss(document_for(finished_run("public-only")))
    assert ceiling(public).area == pytest.approx(0.5, abs=1e-6)
    assert ceiling(None).area == 1.0


def test_the_ceiling_of_a_document_is_that_of_the_price_it_states():
    document = document_for(finished_run())
    worst = max(document.pools, key=lambda pool: pool.epsilon.tight)
    loss = proven_loss(document)
    assert loss.epsilon(document.guarantee.delta) == pytest.approx(worst.epsilon.tight, rel=1e-6)
    # any concave curve that touches the line a + distance lies between a triangle and the square cut by that line
    distance = loss.delta(0.0)
    assert (1 + distance) / 2 <= ceiling(loss).area <= 1 - (1 - distance) ** 2 / 2
