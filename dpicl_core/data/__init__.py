"""Private tables in: exact reading, declared labels, privacy units, profile; and harmless CSV out."""

from dpicl_core.data.dataset import Dataset, Delimiter, DroppedRow, DropReason, Encoding, Level, Notice
from dpicl_core.data.encodings import MAX_BYTES
from dpicl_core.data.pools import (
    SuggestedSizes,
    assign_persons,
    check_pool,
    declare_labels,
    label_counts,
    pool_for,
    suggest_sizes,
)
from dpicl_core.data.profile import (
    LabelProfile,
    Lengths,
    LongRows,
    Profile,
    long_rows,
    privacy_warnings,
    profile,
)
from dpicl_core.data.reading import read_dataset
from dpicl_core.data.wording import flatten_text
from dpicl_core.data.writing import neutralise_cell, neutralised_csv, write_neutralised_csv

__all__ = [
    "MAX_BYTES",
    "Dataset",
    "Delimiter",
    "DropReason",
    "DroppedRow",
    "Encoding",
    "LabelProfile",
    "Lengths",
    "Level",
    "LongRows",
    "Notice",
    "Profile",
    "SuggestedSizes",
    "assign_persons",
    "check_pool",
    "declare_labels",
    "flatten_text",
    "label_counts",
    "long_rows",
    "neutralise_cell",
    "neutralised_csv",
    "pool_for",
    "privacy_warnings",
    "profile",
    "read_dataset",
    "suggest_sizes",
    "write_neutralised_csv",
]
