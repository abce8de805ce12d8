"""The measures as tasks: right on answers worked out by hand, recorded before they read, and told as they go on."""

from __future__ import annotations

import pickle

import pytest

from dpicl_core.errors import DataError, LedgerError
from dpicl_core.evaluation import (
    AccuracyTask,
    AttackOptions,
    CanaryTask,
    ConsensusTask,
    LeakageTask,
    MembershipTask,
    OwnRun,
    PrivateTable,
)
from dpicl_core.evaluation.work import portions
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import events_of, open_ledger, run_lines
from dpicl_core.ledger.identity import DATABASE_FILE
from dpicl_core.planning import plan_for
from dpicl_core.runs import PrivacyRequest
from dpicl_core.sign_off import vettable_run
from dpicl_core.values import Example
from tests.evaluation.known_model import KnownModel, query_in, shots_in
from tests.support.ledgers import table
from tests.support.tables import ANIMALS
from tests.support.vetting import run_in

PLAN = plan_for(ANIMALS, "tang-gaussian", shots=2, tokens=3)
OTHERS = [
    Example(kind, f"quite another {kind} {number} stood on the hill that day")
    for kind in ("cat", "dog")
    for number in range(20)
]


@pytest.fixture
def ledger():
    return open_ledger()


@pytest.fixture
def document(ledger):
    record = run_in(ledger, shots=2, tokens=3)
    return vettable_run(ledger, record.run_id).document


def with_texts(document, *texts):
    """The same document with other texts in it."""
    parts = [part.model_copy(update={"text": text}) for part, text in zip(document.demonstrations, texts, strict=True)]
    return document.model_copy(update={"demonstrations": parts})


def private(document, ledger, rows=None):
    return PrivateTable(table(rows), (document.run,), ledger, "Ada")


def views(ledger):
    with ledger.read() as connection:
        found = [event for event in events_of(connection) if event.kind == "internal-view"]
    return [(event.details["view"], event.run_id, event.asset_id is not None) for event in found]


def told_by(task, model):
    """What the task found, and the shares that it told."""
    shares = []
    result = pickle.loads(pickle.dumps(task)).run(model, lambda stage, share: shares.append(share))  # noqa: S301
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    return result, shares


def knows_with_demonstrations(prompt):
    """Right where any demonstration stands in the prompt; without one everything is a cat."""
    right = "dog" if "dog" in query_in(prompt) else "cat"
    return right if shots_in(prompt) else "cat"


def test_accuracy_of_each_set_is_what_the_model_knows_with_it(document, ledger):
    references = ("0-shot", "public-only", "real-rows")
    task = AccuracyTask(
        ANIMALS, (document,), PLAN, references, private(document, ledger), PrivateTable(table(OTHERS)), 2, limit=10
    )
    result, shares = told_by(task, KnownModel(knows_with_demonstrations))
    # ten rows, five of them dogs: without a demonstration exactly the cats are right
    assert [(line.kind, line.raw.mean, line.raw.count) for line in result.sets] == [
        ("tang-gaussian epsilon 1 (tight)", 1.0, 1),
        ("0-shot", 0.5, 1),
        ("public-only", 1.0, 1),
        ("real-rows", 1.0, 2),
    ]
    assert [line.internal for line in result.sets] == [False, False, False, True]
    assert (result.queries, result.held_out, result.model) == (10, True, "toy")
    assert shares[-1] == pytest.approx(1.0)


def test_without_held_out_rows_a_quarter_of_the_table_is_asked_and_no_set_made_here_holds_it(document, ledger):
    seen = []

    def look(prompt):
        seen.append(prompt)
        return "cat"

    task = AccuracyTask(ANIMALS, (), PLAN, ("real-rows",), private(document, ledger), None, 3, limit=1000)
    result, _ = told_by(task, KnownModel(look))
    assert (result.queries, result.held_out) == (15, False)  # of 60 rows
    asked = {query_in(prompt) for prompt in seen} - {"N/A", "[MASK]", ""}
    shown = {line.removeprefix("Sentence: ") for prompt in seen for line in prompt.splitlines()[:-1]}
    assert len(asked) == 15
    assert not asked & shown


def remembers(prompt):
    """The true label where the query's text stands in the prompt already, else something else entirely."""
    query = query_in(prompt)
    return ("dog" if "dog" in query else "cat") if prompt.count(query) > 1 else "bird"


def test_an_attack_finds_a_copied_row_and_guesses_on_a_text_of_nobody_and_a_row_of_both_tables_is_no_outsider(
    document, ledger
):
    rows = table().examples
    copied = with_texts(document, rows[0].text, "nobody wrote this text here")
    both = PrivateTable(table([*OTHERS, *rows[:3]]))
    task = MembershipTask(ANIMALS, (copied,), private(document, ledger), both, AttackOptions(3, 1000), 6)
    result, shares = told_by(task, KnownModel(remembers))
    attack, real = result.attacks
    # of 30 cats one is known and 29 tie with all others: (1 + 29 / 2) / 30; dogs tie altogether: 1/2
    assert attack.attack.area.value == pytest.approx((31 / 60 + 1 / 2) / 2)
    assert real.attack.area.value == 1.0
    assert real.ceiling is None
    assert 0.5 < attack.ceiling.area < 1
    assert result.left_out == 3
    assert shares[-1] > 0.8
    with pytest.raises(DataError, match="nobody to tell apart"):
        MembershipTask(ANIMALS, (copied,), private(document, ledger), private(document, ledger)).run(
            KnownModel(remembers), lambda stage, share: None
        )


def test_leakage_counts_the_words_that_a_text_shares_and_says_what_is_chance(document, ledger):
    rows = [*table().examples, Example("dog", "write to dog.owner@example.org about the walk in the park today")]
    texts = with_texts(document, rows[4].text, "We hear of dog.owner@example.org and the cat number 6.")
    task = LeakageTask((texts,), private(document, ledger, rows), PrivateTable(table(OTHERS)))
    result, _ = told_by(task, None)
    first, second = result.texts
    # "the cat number 4 was late for food and food again" is a row of eleven words at line 6
    assert (first.found.longest_run.words, first.found.longest_run.rows, first.line) == (11, 1, 6)
    assert first.found.exact_duplicates == 1
    assert first.passage == rows[4].text
    assert first.chance.longest_run.words == 1  # "cat", or "the"
    # "the cat number 6" of line 8 and "dog owner example org" of the last row have four words each; line 8 comes first
    assert (second.found.longest_run.words, second.found.longest_run.rows, second.line) == (4, 2, 8)
    assert second.passage == "the cat number 6"
    assert [passage.rows for passage in second.found.passages] == [1]
    assert result.rows == 61


def test_rows_that_are_all_alike_agree_to_the_last_bit(document, ledger):
    rows = [Example(kind, f"one and the same {kind} sits in the sun all day") for kind in ("cat", "dog")] * 10
    followed = OwnRun(PLAN, PrivacyRequest(2.0, 1e-3))
    result, shares = told_by(ConsensusTask(followed, private(document, ledger, rows), 2.0), ToyModel())
    assert [(line.label, line.radius, line.noise_allowed) for line in result.found.labels] == [
        ("cat", 0.0, 0.0),
        ("dog", 0.0, 0.0),
    ]
    assert result.found.average.noise_whole > 0
    assert (result.mechanism, result.epsilon, shares[-1]) == ("tang-gaussian", 2.0, 1.0)


def test_canaries_are_counted_for_every_run_and_the_words_are_new(document, ledger):
    plans = [plan_for(ANIMALS, name, shots=1, tokens=3) for name in ("public-only", "unprotected")]
    tried = tuple(OwnRun(plan, PrivacyRequest(None, 1e-3)) for plan in plans)
    result, shares = told_by(CanaryTask(tried, private(document, ledger), 1.0, runs=2), ToyModel())
    assert [(line.mechanism, line.runs) for line in result.results] == [("public-only", 2), ("unprotected", 2)]
    assert (result.results[0].words_out, len(result.canary.split())) == (0, 8)
    assert 0.5 < shares[-1] <= 1


def test_every_measure_is_recorded_on_the_run_and_its_asset_and_held_out_rows_on_the_ledger(document, ledger):
    of, model = private(document, ledger), KnownModel(lambda prompt: "cat")
    AccuracyTask(ANIMALS, (document,), PLAN, (), of, None, limit=4).run(model, lambda stage, share: None)
    LeakageTask((document,), of, PrivateTable(table(OTHERS), (), ledger)).run(None, lambda stage, share: None)
    assert views(ledger) == [
        ("in-context accuracy, not DP", document.run, True),
        ("words shared with private rows, not DP", document.run, True),
        ("words shared with private rows, not DP", None, False),
    ]
    with ledger.read() as connection:
        assert [line.internal_views for line in run_lines(connection)] == [2]
    opened = vettable_run(ledger, document.run).views
    assert [part.view for part in opened] == ["in-context accuracy, not DP", "words shared with private rows, not DP"]


def test_where_the_ledger_cannot_record_nothing_is_read(document, ledger):
    ledger.engine.dispose()
    file = ledger.identity.home / DATABASE_FILE
    for path in (file, *file.parent.glob(f"{DATABASE_FILE}-*")):
        path.write_bytes(b"no database any more" * 500)
    model, told = KnownModel(lambda prompt: "cat"), []
    of = private(document, ledger)
    for task in (
        AccuracyTask(ANIMALS, (document,), PLAN, (), of, None, limit=4),
        MembershipTask(ANIMALS, (document,), of, of),
        LeakageTask((document,), of),
        ConsensusTask(OwnRun(PLAN, PrivacyRequest(2.0, 1e-3)), of, 2.0),
    ):
        with pytest.raises(LedgerError):
            task.run(model, lambda stage, share: told.append(stage))
    assert (model.asked, told) == (0, [])


def test_parts_of_a_measure_are_shares_of_the_whole():
    told = []
    first, nothing, last = portions(lambda stage, share: told.append((stage, share)), [3.0, 0.0, 1.0])
    first("a", 0.5)
    nothing("b", 1.0)
    last("c", 0.5)
    assert told == [("a", 0.375), ("b", 0.75), ("c", 0.875)]


def test_a_guess_at_the_time_grows_with_what_is_asked(document, ledger):
    of = private(document, ledger)
    few, many = (
        AccuracyTask(ANIMALS, (document,), PLAN, ("noise-free",), of, None, seeds, limit=rows)
        for seeds, rows in ((1, 10), (3, 40))
    )
    assert 0 < 3 * few.seconds(None) <= many.seconds(None)
    assert few.seconds(2e-3) == pytest.approx(2 * few.seconds(1e-3))
