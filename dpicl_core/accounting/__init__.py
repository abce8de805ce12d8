"""Accounting: a MechanismSpec, a sampling rate and a number of tokens in, the privacy loss out.

Two accountants: `tight` (privacy loss distributions) and `paper` (Renyi). All epsilons are upper bounds. What a loss
means in words is in `dpicl_core.accounting.risk`.
"""

from dpicl_core.accounting.calibration import Accountant, calibrate
from dpicl_core.accounting.charges import Charge
from dpicl_core.accounting.label_change import (
    WorstLoss,
    WorstPair,
    calibrate_label_change,
    label_change_charges,
    price_label_change,
    worst_loss,
    worst_pair,
)
from dpicl_core.accounting.losses import ComposedLoss, compose_charges, composed_loss, epsilon_tight
from dpicl_core.accounting.paper import epsilon_paper
from dpicl_core.accounting.pricing import price
from dpicl_core.accounting.renyi import renyi_divergence

__all__ = [
    "Accountant",
    "Charge",
    "ComposedLoss",
    "WorstLoss",
    "WorstPair",
    "calibrate",
    "calibrate_label_change",
    "compose_charges",
    "composed_loss",
    "epsilon_paper",
    "epsilon_tight",
    "label_change_charges",
    "price",
    "price_label_change",
    "renyi_divergence",
    "worst_loss",
    "worst_pair",
]
