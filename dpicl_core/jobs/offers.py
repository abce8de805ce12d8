"""What a confirmation states before anything is pressed, made in the background since prices and hashes take a while.

Everything that goes wrong on the way comes back as words: a screen that asks again and again never meets an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from dpicl_core.charged_runs import AssetChoice, Belonging, ReadyRun, belonging, prepare_run
from dpicl_core.data import Dataset
from dpicl_core.errors import DPICLError
from dpicl_core.ledger import Ledger, OverTheCapError, SmallerPlan
from dpicl_core.runs import PrivacyRequest
from dpicl_core.values import GenerationPlan

WORKERS = 2

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Offer:
    """A run that its asset can pay now; or, without one, the sentence why not, and smaller plans that would fit."""

    ready: ReadyRun | None = field(repr=False)
    problem: str = ""
    options: tuple[SmallerPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Which assets a table belongs to; or the sentence why nobody can say."""

    known: Belonging | None
    problem: str = ""


class BackgroundDesk:
    """A few threads for such questions, shared by all sessions of a server. Answers hold private rows, so a session
    keeps its own and they go with it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="dpicl-offers")

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        """The answer, some time later; a question that nobody waits for any more can be cancelled."""
        return self._pool.submit(question)


def offer_for(
    dataset: Dataset, plan: GenerationPlan, request: PrivacyRequest, choice: AssetChoice, ledger: Ledger
) -> Offer:
    """Prepare a run, or say why it cannot be made."""
    try:
        return Offer(prepare_run(dataset, plan, request, asset=choice, ledger=ledger))
    except OverTheCapError as error:
        return Offer(None, error.facts, error.options)
    except DPICLError as error:
        return Offer(None, str(error))
    except Exception as error:
        return Offer(None, f"the run could not be prepared ({type(error).__name__}); change the plan and try again.")


def whereabouts(dataset: Dataset, ledger: Ledger) -> Whereabouts:
    """Ask the ledger where a table belongs."""
    try:
        return Whereabouts(belonging(dataset, ledger))
    except DPICLError as error:
        return Whereabouts(None, str(error))
    except Exception as error:
        return Whereabouts(None, f"the ledger could not be asked ({type(error).__name__}); read the table again.")
