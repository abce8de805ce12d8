"""TREC: questions by the type of their answer. Prompt words, M, N and T_max: Gao et al. 2024, Table 12."""

from dpicl_core.values import Task

TASK = Task(
    name="trec",
    title="TREC questions",
    instruction="Given a label of answer type, generate a question based on the given answer type accordingly.",
    generation_label_header="Answer Type",
    generation_text_header="Text",
    icl_instruction="Classify the questions based on whether their answer type is a Number, Location, Person, Description, Entity, or Abbreviation.",
    icl_text_header="Question",
    icl_label_header="Answer Type",
    labels=(
        "Number",
        "Location",
        "Person",
        "Description",
        "Entity",
        "Abbreviation",
    ),
    subsets=20,
    per_subset=2,
    tokens=15,
    record_tokens=32,
    min_tokens=4,
)
