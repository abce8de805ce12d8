"""`rehearse`: refusals come before the model is loaded, and the recommendation ends the report."""

from __future__ import annotations

import pytest

from dpicl_core.__main__ import main
from dpicl_core.cli.rehearse import rehearsal_text
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import mechanism_named, plan_for
from dpicl_core.rehearsal import RehearsalRequest, recommend, rehearse, sentences
from tests.support.tables import ANIMALS

NO_MODEL = ["--task", "sample", "--shots", "1", "--model", "/no/such/folder", "--quiet"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--pool", "5"], "has 5 units"),
        (["--pool", "400", "--epsilons", "0"], "epsilon must be a finite number above 0"),
        (["--pool", "400", "--mechanisms", "anchored,unprotected"], "mechanisms with noise"),
        (["--pool", "400", "--mechanisms", "anchored,anchored"], "each mechanism once"),
    ],
)
def test_a_wrong_plan_is_refused_before_the_model_is_looked_for(options, sentence, capsys):
    assert main(["rehearse", *NO_MODEL, *options]) == 2
    assert sentence in capsys.readouterr().err


def test_the_report_ends_with_the_recommendation_and_the_schedule():
    plan = plan_for(ANIMALS, "tang-gaussian", shots=1, tokens=4, vocabulary=20)
    specs = tuple(map(mechanism_named, ("tang-gaussian", "anchored")))
    found, _ = rehearse(RehearsalRequest(plan, specs, (1.0, 20.0), (("cat", 400),), 1e-4, 1.0), ToyModel())
    lines = rehearsal_text(found).splitlines()
    said = sentences(found, recommend(found))
    assert list(said) == lines[-1 - len(said) : -1]
    assert "radii" in lines[-1]
    assert sum(line.startswith("tang-gaussian ") for line in lines) == 2
