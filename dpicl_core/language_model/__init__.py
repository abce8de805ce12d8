"""Language models: the Protocol and its implementations; importing this loads neither torch nor transformers."""

from dpicl_core.language_model.protocol import (
    FileHash,
    LanguageModel,
    ModelInfo,
    ModelSource,
    Tokenizer,
    restricted_probabilities,
)
from dpicl_core.language_model.toy import ToyModel, ToyTokenizer

__all__ = [
    "FileHash",
    "LanguageModel",
    "ModelInfo",
    "ModelSource",
    "Tokenizer",
    "ToyModel",
    "ToyTokenizer",
    "restricted_probabilities",
]
