"""A file is charged to the asset whose rows it holds; short rows prove nothing; two assets are a person's choice."""

from __future__ import annotations

import pytest

from dpicl_core.charged_runs import AssetChoice, pay, prepare_run
from dpicl_core.data import declare_labels, read_dataset
from dpicl_core.errors import BudgetError, ConfigError
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import asset_reports, events_of, fingerprint, meetings
from dpicl_core.ledger.fingerprints import Weight, normalised, weight_of
from dpicl_core.runs import request_for
from dpicl_core.values import Example, PrivacyUnit
from tests.support.ledgers import long_rows, order_of, table

MODEL = ToyModel().info


def ready(ledger, dataset, **choice):
    plan = order_of(shots=1, tokens=2, min_tokens=1).plan
    return prepare_run(
        dataset, plan, request_for(dataset, 0.5), ledger=ledger, asset=AssetChoice(**choice), actor="Ada"
    )


def charge(ledger, dataset, **choice):
    return pay(ready(ledger, dataset, **choice), MODEL)[0].asset.name


def short_rows(word, count=60):
    return [Example(("cat", "dog")[i % 2], f"{word} thing {i}") for i in range(count)]


def test_a_new_file_becomes_an_asset_with_stated_defaults(ledger):
    first = ready(ledger, table(name="Visits 2024.csv"))
    assert first.is_new
    assert (first.asset.name, first.asset.epsilon, first.asset.delta) == ("Visits 2024", 8.0, 1e-3)
    assert first.asset.rule == "renyi"
    pay(first, MODEL)
    assert not ready(ledger, table(name="renamed.csv")).is_new


def test_one_shared_long_row_is_enough_whatever_its_case_and_blanks(ledger):
    charge(ledger, table(name="first.csv"))
    edited = Example("cat", long_rows()[0].text.upper().replace(" ", "   ") + "!")
    assert charge(ledger, table([*long_rows(60, "water")[2:], edited, edited], name="second.csv")) == "first"


def test_a_file_without_a_shared_row_is_an_asset_of_its_own_with_a_free_name(ledger):
    assert charge(ledger, table(name="notes.csv")) == "notes"
    assert charge(ledger, table(long_rows(60, "water"), name="notes.csv")) == "notes-2"


def test_a_tenth_of_shared_short_rows_binds_and_less_does_not(ledger):
    charge(ledger, table(short_rows("red"), name="red.csv"))
    tenth = short_rows("red")[:6] + short_rows("blue")[:54]
    less = short_rows("red")[:5] + short_rows("green")[:55]
    assert charge(ledger, table(tenth, name="tenth.csv")) == "red"
    assert charge(ledger, table(less, name="less.csv")) == "less"


def test_padding_a_file_with_other_rows_hides_nothing(ledger):
    charge(ledger, table(short_rows("red", 40), name="red.csv"))
    padded = short_rows("red", 40) + short_rows("blue", 960)
    assert charge(ledger, table(padded, name="padded.csv")) == "red"


def test_rows_that_say_nothing_prove_nothing(ledger):
    empty = [Example(("cat", "dog")[i % 2], "None.") for i in range(60)]
    charge(ledger, table([*empty, *short_rows("red", 40)], name="red.csv"))
    assert charge(ledger, table([*empty, *short_rows("blue", 40)], name="blue.csv")) == "blue"


def test_a_file_that_meets_two_assets_is_refused_until_a_named_person_decides(ledger):
    charge(ledger, table(name="first.csv"))
    charge(ledger, table(long_rows(60, "water"), name="second.csv"))
    both = table([*long_rows()[:30], *long_rows(60, "water")[30:]], name="both.csv")
    with pytest.raises(BudgetError, match=r"shares rows or persons with 2 assets .*--override-reason"):
        ready(ledger, both)
    with pytest.raises(BudgetError, match="--override-reason"):
        ready(ledger, both, name="first")
    assert charge(ledger, both, name="first", override_reason="a form letter") == "first"
    with ledger.read() as connection:
        decided = [event for event in events_of(connection) if event.kind == "match-overridden"]
    assert [(event.actor, event.details["reason"]) for event in decided] == [("Ada", "a form letter")]


def test_an_override_without_words_or_without_an_asset_is_refused(ledger):
    charge(ledger, table())
    with pytest.raises(ConfigError, match="is empty"):
        ready(ledger, table(), name="animals", override_reason="  ")
    with pytest.raises(ConfigError, match="must name an existing asset"):
        ready(ledger, table(), name="nowhere", override_reason="because")


def test_a_file_cannot_be_moved_to_another_name_or_to_other_terms(ledger):
    charge(ledger, table())
    with pytest.raises(BudgetError, match="charged there, not to fresh"):
        ready(ledger, table(), name="fresh")
    with pytest.raises(BudgetError, match=r"cap 8\.0 for good"):
        ready(ledger, table(), cap=50.0)


def test_a_new_version_stays_with_its_asset_and_a_wholly_new_one_joins_by_name(ledger):
    charge(ledger, table())
    grown = table([*long_rows()[:50], *long_rows(60, "water")[50:]])
    assert charge(ledger, grown) == "animals"
    later = table(long_rows(60, "water"), name="second half.csv")
    assert charge(ledger, later) == "animals"
    unknown = table(long_rows(60, "market"), name="market.csv")
    assert charge(ledger, unknown, name="animals") == "animals"
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
    assert (report.files, report.runs, report.rows) == (4, 4, 60)


def read(rows, header="text,label", **columns):
    """Rows of a CSV file through the reader, with the declared labels."""
    content = "\n".join([header, *(",".join(row) for row in rows)]).encode()
    return declare_labels(read_dataset(content, name="file.csv", **columns), ("cat", "dog"))


def test_the_very_file_is_known_however_short_its_rows_are_and_whichever_columns_are_read(ledger):
    rows = [(f"red {i}", ("cat", "dog")[i % 2], f"blue {i}") for i in range(60)]
    first = read(rows, "text,label,answer")
    assert charge(ledger, first) == "file"
    assert charge(ledger, first) == "file"
    assert charge(ledger, read(rows, "text,label,answer", text_column="answer")) == "file"
    saved_again = read([*rows, ("red 60", "cat", "blue 60")], "text,label,answer")
    assert charge(ledger, saved_again) == "file-2"  # rows of two words prove nothing, as docs/ledger.md says


def persons_of(who, word, count=60):
    return table(long_rows(count, word), persons=[f"{who} {i % 30}" for i in range(count)], name=f"{word}.csv")


def by_person(ledger, dataset, **choice):
    plan = order_of(shots=1, tokens=2, min_tokens=1, unit=PrivacyUnit.PERSON, subsets=4, per_subset=1).plan
    request = request_for(dataset, 0.5)
    return prepare_run(dataset, plan, request, ledger=ledger, asset=AssetChoice(**choice), actor="Ada")


def test_the_next_extract_of_the_same_persons_spends_the_same_budget(ledger):
    pay(by_person(ledger, persons_of("ward", "food")), MODEL)
    assert by_person(ledger, persons_of("WARD ", "water")).asset.name == "food"
    assert by_person(ledger, persons_of("clinic", "rice")).is_new
    few = table(
        long_rows(60, "bread"), persons=[f"ward {i}" if i < 2 else f"guest {i % 30}" for i in range(60)], name="few.csv"
    )
    assert by_person(ledger, few).is_new
    with pytest.raises(BudgetError, match=r"food: 30 persons.* charged there, not to fresh"):
        by_person(ledger, persons_of("ward", "water"), name="fresh")


def test_rows_that_are_known_under_another_name_of_their_person_are_paid_by_every_label(ledger):
    pay(by_person(ledger, persons_of("ward", "food")), MODEL)
    assert by_person(ledger, persons_of("ward", "food")).outlook.paid_by_all is None
    assert by_person(ledger, persons_of("id", "food")).outlook.paid_by_all is not None


def test_a_text_that_stood_under_two_labels_makes_every_label_pay_for_another_version(ledger):
    twins = [Example(label, row.text) for row in long_rows(30) for label in ("cat", "dog")]
    both = table(twins, name="both.csv")
    charge(ledger, both)
    assert ready(ledger, both).outlook.paid_by_all is None
    one_label = [Example("cat", row.text) for row in twins]
    said = ready(ledger, table(one_label, name="cats.csv")).outlook.paid_by_all
    assert said is not None
    assert not any(character.isdigit() for character in said)  # how many is a private count, and the ledger keeps this


def test_an_assets_delta_above_one_in_n_is_accepted_by_name_or_refused(ledger):
    with pytest.raises(ConfigError, match=r"the delta of asset animals must be at most 1/n.*--accept-delta"):
        ready(ledger, table(), delta=0.5)
    assert ready(ledger, table(), delta=0.5, accept_delta=True).asset.delta == 0.5


def test_meetings_count_what_is_shared(ledger):
    charge(ledger, table())
    mark = fingerprint(table([*long_rows()[:7], *long_rows(60, "water")[7:]]), ledger.identity)
    with ledger.read() as connection:
        (meeting,) = meetings(connection, mark)
    assert (meeting.shared, meeting.long) == (7, 7)


def test_hashes_depend_on_the_secret_and_survive_harmless_editing(ledger, tmp_path):
    from dpicl_core.ledger.identity import load_identity

    ours = fingerprint(table(), ledger.identity)
    other = fingerprint(table(), load_identity(tmp_path / "other", may_create=True))
    assert not {mark.row for mark in ours.marks} & {mark.row for mark in other.marks}
    assert normalised("  Ｈello,  WORLD! ") == "hello world"
    assert normalised("???") == "???"
    assert weight_of(normalised("None.")) is Weight.NOTHING
    assert weight_of(normalised("Who was Galileo ?")) is Weight.SOMETHING
    assert (
        weight_of(normalised("患者は昨日から頭痛と発熱があり、市販の薬を飲んだが良くならなかったので今朝来院した。"))
        is Weight.EVERYTHING
    )
