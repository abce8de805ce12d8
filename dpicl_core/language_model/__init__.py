"""Language models: the Protocol and its implementations; importing this loads neither torch nor transformers."""

from dpicl_core.language_model.cache import Progress, cache_folder
from dpicl_core.language_model.default_model import (
    DefaultModelStatus,
    default_model_status,
    default_tokenizer,
    prepare_default_model,
)
from dpicl_core.language_model.loading import load_model
from dpicl_core.language_model.precision import Machine, describe_machine
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
    "DefaultModelStatus",
    "FileHash",
    "LanguageModel",
    "Machine",
    "ModelInfo",
    "ModelSource",
    "Progress",
    "Tokenizer",
    "ToyModel",
    "ToyTokenizer",
    "cache_folder",
    "default_model_status",
    "default_tokenizer",
    "describe_machine",
    "load_model",
    "prepare_default_model",
    "restricted_probabilities",
]
