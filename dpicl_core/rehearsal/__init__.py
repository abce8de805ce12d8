"""A rehearsal on pseudo-records: what the noise of each mechanism would change, at no privacy cost.

request.py: what is asked, and the noise it takes. steps.py: pseudo-records and the tokens rehearsed on them.
forecasts.py: what noise changes, with intervals. rehearsing.py: all of it in order. advice.py: what to take from it.
Nothing here reads a private row, so a fast generator stands in for OpenDP's noise; the law is the same.
"""

from dpicl_core.rehearsal.advice import (
    FEW_STEPS,
    GOOD_SHARE,
    PUBLIC_ENOUGH,
    Advice,
    plan_is_worse,
    recommend,
    schedule_sentence,
    sentences,
)
from dpicl_core.rehearsal.forecasts import Forecast, Interval, forecast, interval, measured_schedule, noise_draws
from dpicl_core.rehearsal.rehearsing import CANDIDATE_SCHEDULES, Rehearsal, judge, rehearse, within
from dpicl_core.rehearsal.request import CALIBRATING, Noise, Progress, RehearsalRequest, noise_for
from dpicl_core.rehearsal.steps import Step, followed_steps, rehearsed_steps, rehearsed_tokens

__all__ = [
    "CALIBRATING",
    "CANDIDATE_SCHEDULES",
    "FEW_STEPS",
    "GOOD_SHARE",
    "PUBLIC_ENOUGH",
    "Advice",
    "Forecast",
    "Interval",
    "Noise",
    "Progress",
    "Rehearsal",
    "RehearsalRequest",
    "Step",
    "followed_steps",
    "forecast",
    "interval",
    "judge",
    "measured_schedule",
    "noise_draws",
    "noise_for",
    "plan_is_worse",
    "recommend",
    "rehearse",
    "rehearsed_steps",
    "rehearsed_tokens",
    "schedule_sentence",
    "sentences",
    "within",
]
