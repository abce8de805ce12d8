"""The utility benchmark goes on where it was, never mixes sizes, and writes what was measured; on the toy model."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace

import pytest

from benchmarks.utility import cells_of, measure_missing, parser, read_lines
from benchmarks.utility_cells import Bench, Cell, Sizes, run_cell
from benchmarks.utility_pairs import interval, paired_rows, pairs
from benchmarks.utility_tables import write_results
from dpicl_core.language_model import ToyModel
from dpicl_core.language_model.scoring import scorer_for
from dpicl_core.tasks import task_named

SIZES = Sizes(queries=3, tokens=3, subsets=2, per_subset=1, trials=2, rows=2)
TANG = Cell("accuracy", "trec", "tang-gaussian", 4.0, shots=2)
CELLS = [Cell("accuracy", "trec", "0-shot"), TANG, Cell("membership", "trec", "real-rows", shots=1)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "trec").mkdir()
    for part in ("train", "test"):
        with (folder / "trec" / f"{part}.csv").open("w", encoding="utf-8", newline="") as stream:
            rows = [(label, f"what is the name {part} {n}") for n in range(12) for label in task_named("trec").labels]
            csv.writer(stream).writerows([("label", "text"), *rows])
    model = ToyModel()
    return Bench(model, scorer_for(model), folder, SIZES)


def test_a_stopped_benchmark_measures_what_is_missing_alone_and_a_cell_made_again_gives_the_same_numbers(
    bench, tmp_path, capsys
):
    lines = tmp_path / "utility.jsonl"
    measure_missing(CELLS, bench, lines, None)
    whole = read_lines(lines)
    assert [line["mechanism"] for line in whole] == ["0-shot", "tang-gaussian", "real-rows"]
    lines.write_text("\n".join(lines.read_text().splitlines()[:2])[:-40])  # the machine stopped within the second line
    measure_missing(CELLS, bench, lines, None)
    again = read_lines(lines)
    times = ("seconds", "cpu_seconds")
    assert [{k: v for k, v in line.items() if k not in times} for line in again] == [
        {k: v for k, v in line.items() if k not in times} for line in whole
    ]
    measure_missing(CELLS, bench, lines, None)
    assert len(read_lines(lines)) == 3
    assert capsys.readouterr().err.count("3 measured before") == 1


def test_no_time_measures_nothing_and_other_sizes_are_measured_anew(bench, tmp_path):
    lines = tmp_path / "utility.jsonl"
    measure_missing(CELLS[:1], bench, lines, -1.0)
    assert read_lines(lines) == []
    measure_missing(CELLS[:1], bench, lines, None)
    measure_missing(CELLS[:1], replace(bench, sizes=replace(SIZES, queries=2)), lines, None)
    assert [line["sizes"]["queries"] for line in read_lines(lines)] == [3, 2]


def test_a_cell_holds_numbers_and_the_ceiling_and_no_text(bench):
    found = run_cell(replace(TANG, measure="membership", shots=1), bench)
    assert 0.5 < found["ceiling"] < 1
    assert len(found["aucs"]) == SIZES.trials
    assert found["epsilon_tight"] == pytest.approx(4.0, rel=2e-3)
    assert found["epsilon_tight"] <= 4.0
    assert "what is the" not in str(found)


def test_tables_average_over_seeds_and_keep_sizes_apart(tmp_path):
    def line(seed, raw, **changes):
        base = {
            "measure": "accuracy", "task": "trec", "mechanism": "real-rows", "epsilon": None, "accountant": "tight",
            "selection": "argmax", "shots": 4, "seed": seed, "margin": 0.2, "iterations": 1,
            "split": [0.03, 0.94, 0.03], "model": "toy", "sizes": asdict(SIZES),
            "raw": raw, "calibrated": None, "seconds": 1, "cpu_seconds": 1, "covering_radius": {"Number": 0.1},
            "last_radius": 0.7, "noise": 0.1, "agreement": 0.5, "epsilon_paper": 6.0,
        }  # fmt: skip
        return {**base, **changes}

    tang = {"mechanism": "tang-gaussian", "epsilon": 4.0}
    lines = [line(seed, raw) for seed, raw in enumerate((0.5, 0.6, 0.7))]
    lines += [line(0, 0.4, **tang), line(0, 0.9, **tang, model="other")]
    write_results(lines, tmp_path / "found.md", "the command")
    text = (tmp_path / "found.md").read_text()
    first, second = text.split("## model ")[1:]
    assert "| trec | random real rows (not private) | 60.0 sd 10.0 [35-85] (3) |" in first
    assert "| trec | Tang Gaussian | 40.0 (1) |" in first
    assert "| trec | Tang Gaussian | 90.0 (1) |" in second
    assert "| trec | 0.100 | 7.1 x | 1 | Number 0.100 |" in first
    assert (tmp_path / "found-trec.svg").read_text().startswith("<svg")
    assert "the command" in text


def test_seeds_come_first_and_every_mechanism_of_a_seed_has_the_same_target_labels():
    cells = list(cells_of(parser().parse_args(["--size", "three-hours", "--seeds", "2"])))
    seeds = [cell.seed for cell in cells]
    assert seeds == sorted(seeds)
    wanted = {("agnews", "tang-gaussian", 1.0, "own", "sample"), ("dbpedia", "adadpsyn", 4.0, "tight", "argmax")}
    assert wanted <= {(c.task, c.mechanism, c.epsilon, c.accountant, c.selection) for c in cells}
    shots = {cell.shots for cell in cells if cell.task == "dbpedia" and cell.mechanism == "anchored"}
    assert shots == {1, 2, 4, 8}


def line_of(mechanism, seed, epsilon, calibrated, *, task="trec", selection="argmax", accountant="tight"):
    facts = {"mechanism": mechanism, "seed": seed, "epsilon": epsilon, "task": task, "selection": selection}
    return {**facts, "accountant": accountant, "calibrated": calibrated, "raw": None}


def test_pairs_are_averaged_over_what_both_sets_have_before_seeds_are_compared():
    lines = [
        *(line_of("tang-gaussian", seed, epsilon, 0.5) for seed in (0, 1, 2) for epsilon in (1.0, 4.0)),
        *(line_of("anchored", seed, 1.0, 0.5 + seed / 10) for seed in (0, 1, 2)),
        *(line_of("anchored", seed, 4.0, 0.7) for seed in (0, 1, 2)),
        line_of("anchored", 0, 1.0, 0.0, accountant="own"),  # another accountant, and a task that the other lacks
        line_of("anchored", 0, 1.0, 0.0, task="agnews"),
        *(line_of("public-only", seed, None, 0.4) for seed in (0, 1, 2)),
    ]
    found = {(one, other): values for one, other, _, values in pairs(lines, "calibrated")}
    assert found["anchored", "tang-gaussian"] == pytest.approx([0.1, 0.15, 0.2])
    assert found["tang-gaussian", "public-only"] == pytest.approx([0.1] * 3)  # no noise stands against both epsilons
    low, high = interval([0.1, 0.15, 0.2])
    assert (low, high) == pytest.approx((0.15 - 0.05 / 3**0.5 * 4.302653, 0.15 + 0.05 / 3**0.5 * 4.302653))
    assert ("calibrated", "anchored", "tang-gaussian", "largest entry", "+15.0", "[+2.6 to +27.4]") in paired_rows(
        lines
    )
