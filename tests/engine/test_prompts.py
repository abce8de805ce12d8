"""Prompts as the paper writes them, as text and as tokens."""

from __future__ import annotations

import pytest

from dpicl_core.errors import ConfigError
from dpicl_core.language_model import ToyTokenizer
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.prompts import generation_prompt, icl_prompt
from dpicl_core.tasks import TASKS, custom_task, heading, target_labels, task_named
from dpicl_core.values import Example
from tests.support.tables import ANIMALS


def test_the_trec_generation_prompt_reads_as_in_the_paper():
    task = task_named("trec")
    prompt = generation_prompt(task, [Example("Person", "Who wrote it ?")], "Number", " How many")
    assert prompt == (
        "Given a label of answer type, generate a question based on the given answer type accordingly.\n\n"
        "Answer Type: Person\nText: Who wrote it ?\n\n"
        "Answer Type: Number\nText: How many"
    )


def test_the_in_context_prompt_puts_text_before_label_and_ends_with_the_label_header():
    prompt = icl_prompt(task_named("agnews"), [("A cup was won.", "Sports")], "Shares fell.")
    assert prompt.endswith("\n\nArticle: A cup was won.\nAnswer: Sports\n\nArticle: Shares fell.\nAnswer:")
    assert icl_prompt(task_named("mit_g"), [], "a film").startswith("Sentence: a film")


def test_line_breaks_inside_a_cell_never_reach_a_prompt():
    prompt = generation_prompt(ANIMALS, [Example("cat", "one\r\ntwo\n\nthree\tfour")], "dog")
    assert "Sentence: one two three four\n\n" in prompt


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_tokens_of_a_prompt_spell_exactly_its_text(task):
    tokenizer = ToyTokenizer()
    encoder = PromptEncoder(task, tokenizer, record_tokens=200)
    rows = [Example(task.labels[0], "first text"), Example(task.labels[-1], "second, a bit longer text")]
    released = tokenizer.encode(" and so")
    prompt = encoder.private(rows, task.labels[0], released)
    ids = [i for block in prompt.blocks for i in block.ids][len(tokenizer.prefix_ids) :]
    assert tokenizer.decode(ids) == generation_prompt(task, rows, task.labels[0], " and so")
    public = encoder.public(task.labels[0], released)
    ids = [i for block in public.blocks for i in block.ids][len(tokenizer.prefix_ids) :]
    assert tokenizer.decode(ids) == generation_prompt(task, [], task.labels[0], " and so")


def test_a_long_row_is_cut_at_the_cap_and_still_ends_with_the_separator():
    tokenizer = ToyTokenizer()
    encoder = PromptEncoder(ANIMALS, tokenizer, record_tokens=10)
    short, long = encoder.example(Example("cat", "x")), encoder.example(Example("cat", "x" * 3_000_000))
    assert short.width == long.width == len(long.ids)
    assert tokenizer.decode(long.ids).endswith("\n\n")
    assert encoder.is_cut(Example("cat", "x" * 50))
    assert not encoder.is_cut(Example("cat", "x"))


def test_the_longest_prompt_is_announced_exactly():
    tokenizer = ToyTokenizer()
    encoder = PromptEncoder(ANIMALS, tokenizer, record_tokens=10)
    prompt = encoder.private([Example("cat", "x" * 99)] * 3, "dog", [5] * 6)
    assert sum(prompt.widths) == encoder.tokens_at_most("dog", 3, 6)


def test_labels_are_used_without_replacement_and_repeat_only_when_shots_exceed_them():
    assert target_labels(ANIMALS, 2) == ("cat", "dog")
    assert target_labels(ANIMALS, 5) == ("cat", "dog", "cat", "dog", "cat")
    assert target_labels(ANIMALS, 2, ["dog"]) == ("dog", "dog")


def test_open_tasks_ship_twenty_target_labels_and_trec_its_sixth_label():
    assert len(TASKS["mit_g"].labels) == len(TASKS["mit_d"].labels) == 20
    assert TASKS["trec"].labels[5] == "Abbreviation"
    assert [len(TASKS[name].labels) for name in ("agnews", "dbpedia", "trec")] == [4, 14, 6]


def test_any_table_gets_an_instruction_from_its_column_names():
    task = custom_task(text_column="note_text", label_column="section", labels=["CC", "ROS"])
    assert task.instruction == "Given a section, write a note text that belongs to it."
    assert heading("PLAN/type") == "PLAN Type"
    same = custom_task(text_column="x", label_column="X", labels=["a"])
    assert same.generation_label_header != same.generation_text_header


def test_labels_that_contradict_are_refused():
    with pytest.raises(ConfigError, match="declares"):
        custom_task(text_column="t", label_column="l", labels=["a", "a"])
    with pytest.raises(ConfigError, match="--label"):
        custom_task(text_column="t", label_column="l", labels=[])
    with pytest.raises(ConfigError, match="not built in"):
        task_named("nosuch")
