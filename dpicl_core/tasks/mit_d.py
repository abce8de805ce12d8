"""MIT-D: film descriptions with a director. Prompt words, M, N and T_max: Gao et al. 2024, Table 12.

The target labels are a public list written by hand from general knowledge; no private label was read for it.
"""

from dpicl_core.values import Task

TASK = Task(
    name="mit_d",
    title="MIT films by director",
    instruction="Given a director for the film, generate a description accordingly and make sure to include the given director in the description.",
    generation_label_header="Director",
    generation_text_header="Sentence",
    icl_instruction="",
    icl_text_header="Sentence",
    icl_label_header="Director",
    labels=(
        "steven spielberg",
        "alfred hitchcock",
        "martin scorsese",
        "stanley kubrick",
        "francis ford coppola",
        "ridley scott",
        "james cameron",
        "christopher nolan",
        "clint eastwood",
        "akira kurosawa",
        "orson welles",
        "billy wilder",
        "federico fellini",
        "ingmar bergman",
        "david lean",
        "john ford",
        "frank capra",
        "sofia coppola",
        "kathryn bigelow",
        "hayao miyazaki",
    ),
    open_labels=True,
    subsets=40,
    per_subset=1,
    tokens=20,
    record_tokens=48,
    min_tokens=5,
)
