"""Runs as background jobs: a separate low-priority process does the work, a registry outlives every screen.

Importing this loads neither torch nor transformers: the child process alone holds a model.
"""

from dpicl_core.jobs.clusters import ClusterView, cluster_view
from dpicl_core.jobs.lengths import TokenLengths
from dpicl_core.jobs.offers import BackgroundDesk, Offer, Whereabouts, offer_for, whereabouts
from dpicl_core.jobs.quotes import LabelQuote, Quote, QuoteBook, QuoteRequest, rough_seconds
from dpicl_core.jobs.registry import JobRegistry
from dpicl_core.jobs.snapshots import DraftView, RunSnapshot, RunState

__all__ = [
    "BackgroundDesk",
    "ClusterView",
    "DraftView",
    "JobRegistry",
    "LabelQuote",
    "Offer",
    "Quote",
    "QuoteBook",
    "QuoteRequest",
    "RunSnapshot",
    "RunState",
    "TokenLengths",
    "Whereabouts",
    "cluster_view",
    "offer_for",
    "rough_seconds",
    "whereabouts",
]
