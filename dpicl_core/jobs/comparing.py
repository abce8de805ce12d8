"""Several mechanisms on one plan: what they cost together before anything is pressed, then paid in one step and queued.

A payment names the model that it was made for, and here nobody has a model but the child process. So the child is asked
first, with no private row in the question, whether the model takes the plan and which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dpicl_core.charged_runs import AssetChoice, ReadyRun, check_together, pay_together, prepare_run
from dpicl_core.data import Dataset
from dpicl_core.errors import DPICLError
from dpicl_core.jobs.registry import JobRegistry
from dpicl_core.jobs.tasks import Tell
from dpicl_core.language_model.protocol import LanguageModel, ModelInfo
from dpicl_core.ledger import Ledger, Outlook, OverTheCapError
from dpicl_core.runs import PrivacyRequest, check_context
from dpicl_core.values import GenerationPlan

_OVER_TOGETHER = "Compare fewer mechanisms, or choose a smaller epsilon or fewer demonstrations."
_OVER_ALONE = "One mechanism alone is over it: choose a smaller epsilon or fewer demonstrations."


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Load the model, refuse a plan whose prompts are too long for it, and say which model it is. Reads no row.

    plan: any of those to be compared, since a mechanism does not change the prompts.
    """

    plan: GenerationPlan

    def run(self, model: LanguageModel, tell: Tell) -> ModelInfo:
        """The model's public facts. Raises ModelError for a plan that it cannot take."""
        tell("checking the length of the prompts", 0.5)
        check_context(self.plan, model)
        return model.info


@dataclass(frozen=True, slots=True)
class TogetherOffer:
    """Runs that their asset can pay now, all of them; or, without any, the sentence why not.

    outlook: what paying for all of them would do to the asset; None where they cannot be paid.
    """

    ready: tuple[ReadyRun, ...] = field(repr=False)
    outlook: Outlook | None = field(default=None, repr=False)
    problem: str = ""

    @property
    def epsilon(self) -> float:
        """Privacy loss of all of them together by the tight accountant: an upper bound, the plain sum over runs."""
        return sum(max(price.epsilon_tight for price in each.prices) for each in self.ready)

    @property
    def delta(self) -> float:
        """The delta at which `epsilon` holds: the sum over the runs that read private rows."""
        return sum(each.request.delta for each in self.ready if each.plan.mechanism.reads_private_rows)


def request_of(plan: GenerationPlan, request: PrivacyRequest) -> PrivacyRequest:
    """The request for one plan of several: a mechanism that reads no private row is not calibrated to an epsilon."""
    return request if plan.mechanism.reads_private_rows else replace(request, epsilon=None)


def offer_together(
    dataset: Dataset, plans: Sequence[GenerationPlan], request: PrivacyRequest, choice: AssetChoice, ledger: Ledger
) -> TogetherOffer:
    """Prepare a run of each plan, or say why they cannot all be made. What goes wrong comes back as words."""
    ready: list[ReadyRun] = []
    try:
        for plan in plans:
            ready.append(prepare_run(dataset, plan, request_of(plan, request), asset=choice, ledger=ledger))
        return TogetherOffer(tuple(ready), check_together(ready))
    except OverTheCapError as error:
        alone = len(ready) < len(plans)
        return TogetherOffer((), None, f"{error.facts}{_OVER_ALONE if alone else _OVER_TOGETHER}")
    except DPICLError as error:
        return TogetherOffer((), None, str(error))
    except Exception as error:
        kind = type(error).__name__
        return TogetherOffer((), None, f"the runs could not be prepared ({kind}); change the plan and try again.")


def pay_and_queue(
    registry: JobRegistry, ready: Sequence[ReadyRun], info: ModelInfo, *, model: str | None
) -> tuple[str, ...]:
    """Pay for all runs or for none, then queue each; the ids of their pages, in order. Sent again, they are paid once.

    info: of the model named `model`, as ModelCheck gave it. Raises ConfigError where the queue has no room, before
    anything is paid; BudgetError and LedgerError as `pay`. Should the queue fill up just after, what is paid stays in
    the ledger, where every run can be gone on with.
    """
    known = registry.submitted([each.run_id for each in ready])
    if known is not None:
        return known
    registry.check_room(len(ready))
    return tuple(registry.submit(work, token=work.stored.id, model=model) for work in pay_together(ready, info))
