"""MIT-G: film descriptions with a genre. Prompt words, M, N and T_max: Gao et al. 2024, Table 12.

The target labels are a public list written by hand from general knowledge; no private label was read for it.
"""

from dpicl_core.values import Task

TASK = Task(
    name="mit_g",
    title="MIT films by genre",
    instruction="Given a genre for the film, generate a description accordingly and make sure to include the given genre in the description.",
    generation_label_header="Genre",
    generation_text_header="Sentence",
    icl_instruction="",
    icl_text_header="Sentence",
    icl_label_header="Genre",
    labels=(
        "comedy",
        "drama",
        "horror",
        "science fiction",
        "action",
        "thriller",
        "romantic comedy",
        "western",
        "musical",
        "documentary",
        "fantasy",
        "adventure",
        "crime",
        "mystery",
        "war",
        "animated",
        "family",
        "superhero",
        "biography",
        "film noir",
    ),
    open_labels=True,
    subsets=40,
    per_subset=1,
    tokens=20,
    record_tokens=48,
    min_tokens=5,
)
