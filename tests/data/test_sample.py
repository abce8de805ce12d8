"""The sample table is what its script writes, large and varied enough, and read without a warning."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dpicl_core.data import label_counts, privacy_warnings, profile, read_dataset

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SAMPLE = ASSETS / "sample_messages.csv"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_sample", ASSETS / "make_sample.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dataset():
    return read_dataset(SAMPLE)


def test_the_file_is_what_the_script_writes(script):
    assert SAMPLE.read_bytes() == script.sample_csv()


def test_the_held_out_rows_are_what_the_script_writes_and_stand_in_no_row_of_the_sample(script, dataset):
    held_out = read_dataset(ASSETS / "sample_held_out.csv")
    assert (ASSETS / "sample_held_out.csv").read_bytes() == script.held_out_csv()
    assert label_counts(held_out) == dict.fromkeys(label_counts(dataset), 60)
    assert not {row.text for row in held_out.examples} & {row.text for row in dataset.examples}


def test_another_seed_writes_other_rows(script):
    assert script.sample_csv(seed=1, rows_per_label=5) != script.sample_csv(seed=2, rows_per_label=5)


def test_there_are_enough_rows_of_every_label(dataset):
    counts = label_counts(dataset)
    assert len(dataset) == 2400
    assert len(counts) == 6
    assert min(counts.values()) >= 150


def test_texts_differ_and_are_of_usual_length(dataset):
    texts = [example.text for example in dataset.examples]
    assert len(set(texts)) == len(texts)
    assert all(12 <= len(text.split()) <= 45 for text in texts)
    assert all("{" not in text and text[0].isupper() and text[-1] in ".?!" for text in texts)
    openings = {label: set() for label in label_counts(dataset)}
    for example in dataset.examples:
        openings[example.label].add(" ".join(example.text.split()[:5]))
    assert all(len(own) > 60 for own in openings.values())


def test_the_sample_is_read_without_a_warning(dataset):
    assert dataset.notices == ()
    assert dataset.dropped == ()
    assert privacy_warnings(dataset, profile(dataset), subsets=10, per_subset=2) == ()
