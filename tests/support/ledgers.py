"""Made-up tables read as data sets, assets and orders for tests of the ledger."""

from __future__ import annotations

from functools import cache

from dpicl_core.data import Dataset, declare_labels
from dpicl_core.data.dataset import Delimiter, Encoding
from dpicl_core.ledger import AssetTerms, Order, create_asset, epsilon_of_divergence, fingerprint
from dpicl_core.ledger.costs import cost_parts, price_charges
from dpicl_core.ledger.filters import charge_divergence
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.runs import PrivacyRequest
from dpicl_core.values import Example, PrivacyUnit
from tests.support.tables import ANIMALS, animal_rows

DELTA = 1e-3
ORDER = 3.0


def table(rows=None, *, name="animals.csv", persons=None, declared=("cat", "dog"), label_column="kind") -> Dataset:
    """A data set without a file; 60 rows of eight words unless rows are given."""
    examples = tuple(long_rows() if rows is None else rows)
    dataset = Dataset(
        name=name,
        examples=examples,
        lines=tuple(range(2, len(examples) + 2)),
        persons=None if persons is None else tuple(persons),
        columns=(label_column, "text"),
        text_column="text",
        label_column=label_column,
        person_column=None if persons is None else "who",
        encoding=Encoding("utf-8", "UTF-8", "utf-8"),
        delimiter=Delimiter(",", "comma"),
    )
    return declare_labels(dataset, declared) if declared else dataset


def long_rows(count=60, word="food") -> list[Example]:
    return [Example(row.label, f"{row.text} and {word} again") for row in animal_rows(count)]


@cache
def order_of(epsilon=1.0, mechanism="tang-gaussian", shots=2, tokens=6, units=30, **settings) -> Order:
    """One priced run on two labels of 30 rows each; kept, since pricing is the slow part."""
    plan = plan_for(ANIMALS, mechanism, shots=shots, tokens=tokens, **settings)
    private = plan.mechanism.reads_private_rows
    request = PrivacyRequest(epsilon if private else None, DELTA)
    prices = price_plan(plan, dict.fromkeys(ANIMALS.labels, units), delta=DELTA, epsilon=request.epsilon)
    return Order(plan, request, prices)


def terms(name="animals", epsilon=8.0, *, rule="renyi", unit=PrivacyUnit.ROW, delta=DELTA, labels=("cat", "dog")):
    return AssetTerms(
        name=name,
        owner="Ada",
        unit=unit,
        labels=labels,
        epsilon=epsilon,
        delta=delta,
        rule=rule,
        order=ORDER if rule == "renyi" else None,
        person_column="who" if unit is PrivacyUnit.PERSON else None,
    )


def registered(ledger, terms_, dataset=None):
    """An asset, with a file tied to it when one is given."""
    from dpicl_core.ledger import tie_file

    with ledger.write() as connection:
        asset = create_asset(connection, ledger, terms_, actor="Ada")
        if dataset is not None:
            tie_file(connection, ledger, asset, fingerprint(dataset, ledger.identity), actor="Ada")
    return asset


def cap_for(runs: float, order: Order) -> float:
    """The epsilon whose Renyi budget pays for this many runs of the order."""
    cost = max(charge_divergence(charge, ORDER) for charge in price_charges(order.prices))
    return epsilon_of_divergence(runs * cost, order=ORDER, delta=DELTA)


def cost_of(asset, order: Order) -> float:
    return max(part.cost for part in cost_parts(asset, order.plan, order.prices))
