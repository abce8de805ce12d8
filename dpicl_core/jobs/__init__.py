"""Runs as background jobs: a separate low-priority process does the work, a registry outlives every screen.

Importing this loads neither torch nor transformers: the child process alone holds a model.
"""

from dpicl_core.jobs.clusters import ClusterView, cluster_view
from dpicl_core.jobs.comparing import ModelCheck, TogetherOffer, offer_together, pay_and_queue
from dpicl_core.jobs.lengths import LengthsTask, TokenLengths
from dpicl_core.jobs.offers import BackgroundDesk, Offer, Whereabouts, offer_for, whereabouts
from dpicl_core.jobs.quotes import LabelQuote, Quote, QuoteBook, QuoteRequest, rough_seconds
from dpicl_core.jobs.registry import JobRegistry
from dpicl_core.jobs.rehearsing import PicturedToken, RehearsalTask, Rehearsed, rough_rehearsal_seconds
from dpicl_core.jobs.snapshots import DraftView, RunSnapshot, RunState
from dpicl_core.jobs.tasks import Task, TaskSnapshot, TaskState, Tell

__all__ = [
    "BackgroundDesk",
    "ClusterView",
    "DraftView",
    "JobRegistry",
    "LabelQuote",
    "LengthsTask",
    "ModelCheck",
    "Offer",
    "PicturedToken",
    "Quote",
    "QuoteBook",
    "QuoteRequest",
    "RehearsalTask",
    "Rehearsed",
    "RunSnapshot",
    "RunState",
    "Task",
    "TaskSnapshot",
    "TaskState",
    "Tell",
    "TogetherOffer",
    "TokenLengths",
    "Whereabouts",
    "cluster_view",
    "offer_for",
    "offer_together",
    "pay_and_queue",
    "rough_rehearsal_seconds",
    "rough_seconds",
    "whereabouts",
]
