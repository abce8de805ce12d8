"""The real default model, prepared once through the product in its normal cache, and a tiny one made on the spot."""

import pytest

from dpicl_core.language_model import load_model, prepare_default_model
from dpicl_core.language_model.precision import choose_dtype
from tests.language_model.tiny import save_tiny_model

FIRST_LAYERS = 3


@pytest.fixture(scope="session")
def default_folder():
    return prepare_default_model()


@pytest.fixture(scope="session")
def default_float32(default_folder):
    return load_model(dtype="float32")


@pytest.fixture(scope="session", params=["whole", "float32, first layers", "bfloat16, first layers"])
def default_model(request, default_folder):
    """The default model whole, in the type that this machine would choose, and its first layers in either type.

    A layer of one type has the same shapes and kernels wherever it stands, so three show what thirty do; a processor
    without bfloat16 units takes minutes for thirty.
    """
    name, _, part = request.param.partition(", ")
    if not part:
        dtype = choose_dtype(None, "cpu")
        return request.getfixturevalue("default_float32") if dtype == "float32" else load_model(dtype=dtype)
    model = load_model(dtype=name)
    network = model.network
    network.model.layers = network.model.layers[:FIRST_LAYERS]
    network.config.num_hidden_layers = FIRST_LAYERS
    return model


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_model(tiny_folder):
    return load_model(str(tiny_folder), dtype="float32")
