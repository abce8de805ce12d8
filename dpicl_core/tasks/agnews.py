"""AGNews: news articles of four topics. Prompt words, M, N and T_max: Gao et al. 2024, Tables 12 and prompts."""

from dpicl_core.values import Task

TASK = Task(
    name="agnews",
    title="AGNews",
    instruction="Given a label of news type, generate the chosen type of news accordingly.",
    generation_label_header="News Type",
    generation_text_header="Text",
    icl_instruction="Classify the news articles into the categories of World, Sports, Business, and Technology.",
    icl_text_header="Article",
    icl_label_header="Answer",
    labels=(
        "World",
        "Sports",
        "Business",
        "Technology",
    ),
    subsets=10,
    per_subset=2,
    tokens=100,
    record_tokens=96,
    min_tokens=8,
)
