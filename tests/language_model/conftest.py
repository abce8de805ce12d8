"""The real default model, prepared once through the product in its normal cache, and a tiny one made on the spot."""

import pytest

from dpicl_core.language_model import load_model, prepare_default_model
from tests.language_model.tiny import save_tiny_model


@pytest.fixture(scope="session")
def default_folder():
    return prepare_default_model()


@pytest.fixture(scope="session")
def default_float32(default_folder):
    return load_model(dtype="float32")


@pytest.fixture(scope="session", params=["float32", "bfloat16"])
def default_model(request, default_folder):
    if request.param == "float32":
        return request.getfixturevalue("default_float32")
    return load_model(dtype=request.param)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_model(tiny_folder):
    return load_model(str(tiny_folder), dtype="float32")
