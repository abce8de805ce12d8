"""Small made-up tables as public facts and pools, for tests of the layers above reading."""

from __future__ import annotations

from dpicl_core.values import Example, Pool, Task

ANIMALS = Task(
    name="animals",
    title="Animals",
    instruction="Given a kind, write a sentence about it.",
    generation_label_header="Kind",
    generation_text_header="Sentence",
    icl_instruction="Say which kind.",
    icl_text_header="Sentence",
    icl_label_header="Kind",
    labels=("cat", "dog"),
    subsets=4,
    per_subset=2,
    tokens=6,
    record_tokens=24,
    min_tokens=2,
)


def animal_rows(count: int = 60) -> list[Example]:
    """Rows whose text says which row it is."""
    kinds = ("cat", "dog")
    return [Example(kinds[i % 2], f"the {kinds[i % 2]} number {i} was late for food") for i in range(count)]


def animal_pools(rows: list[Example]) -> dict[str | None, Pool]:
    """One pool per label, rows as units."""
    return {label: Pool(label, tuple((row,) for row in rows if row.label == label)) for label in ANIMALS.labels}
