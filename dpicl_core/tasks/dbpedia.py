"""DBPedia: encyclopedia entries of fourteen kinds. Prompt words, M, N and T_max: Gao et al. 2024, Table 12."""

from dpicl_core.values import Task

TASK = Task(
    name="dbpedia",
    title="DBPedia",
    instruction="Given a label of document type, generate the chosen type of document accordingly.",
    generation_label_header="Document Type",
    generation_text_header="Text",
    icl_instruction="Classify the documents based on whether they are about a Company, School, Artist, Athlete, Politician, Transportation, Building, Nature, Village, Animal, Plant, Album, Film, or Book.",
    icl_text_header="Article",
    icl_label_header="Answer",
    labels=(
        "Company",
        "School",
        "Artist",
        "Athlete",
        "Politician",
        "Transportation",
        "Building",
        "Nature",
        "Village",
        "Animal",
        "Plant",
        "Album",
        "Film",
        "Book",
    ),
    subsets=10,
    per_subset=2,
    tokens=100,
    record_tokens=128,
    min_tokens=8,
)
