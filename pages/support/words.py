"""Fixed words of the screens: mechanisms in five plain sentences each, the help panel, words for states."""

from __future__ import annotations

TITLES = {
    "adadpsyn": "AdaDPSyn",
    "tang-gaussian": "Tang, Gaussian",
    "tang-noisy-max": "Tang, noisy max",
    "anchored": "Anchored",
    "public-only": "Public only",
}

COLOURS = {
    "adadpsyn": "#0072B2",
    "tang-gaussian": "#D55E00",
    "tang-noisy-max": "#D55E00",
    "anchored": "#009E73",
    "public-only": "#666666",
}

SENTENCES = {
    "adadpsyn": (
        "Published by Gao and others in 2024, and run here exactly as published.",
        "For every word piece it looks for the radius r of a ball that holds most of the private next-word vectors.",
        "Then it shrinks its own radius R towards r: a smaller ball needs less noise for the same privacy loss.",
        "Finding r and checking the ball cost part of the budget, so its first mean is noisier than Tang's.",
        "With fresh secret draws and one accountant for all, it did not beat Tang on the default model in our tests.",
    ),
    "tang-gaussian": (
        "Published by Tang and others in 2023; the baseline.",
        "It adds up the private next-word vectors, adds bell-shaped noise once, and takes the largest entry.",
        "All of the budget goes into this one noisy sum, and nothing is searched.",
        "The noise fits the widest spread that vectors could have, even where they lie close together.",
        "It is the simplest to explain to an auditor.",
    ),
    "tang-noisy-max": (
        "The second mechanism of Tang and others, 2023: report noisy max.",
        "Each candidate word piece gets a score from the private rows and its own one-sided noise.",
        "Only the winner is released: no vector, no radius and no noise chart.",
        "Its price is simple and holds without delta for each word piece.",
        "In our rehearsals it left more word pieces unchanged than the Gaussian form from epsilon 1 on; below, fewer.",
    ),
    "anchored": (
        "Ours: it starts at the public vector, which costs nothing, and lets the private rows move it.",
        "It takes a few noisy means in balls whose radii are fixed in advance and shrink.",
        "No budget goes into searching for a radius or checking a ball.",
        "It is chosen first because it agreed with the choice made without noise most often in all our measurements.",
        "Agreement is not yet good text: in our test of accuracy no mechanism was clearly ahead.",
    ),
    "public-only": (
        "No private row is read at all: the privacy loss is zero.",
        "The model writes from the instruction and the label alone.",
        "Take it as the bar to clear: if it is good enough, private data is not needed.",
        "The texts know nothing of how your rows are really written.",
        "It is exported like any other run.",
    ),
}

MODEL_KINDS = {
    "default": "Default model (SmolLM2-135M-Instruct, embedded)",
    "folder": "A folder on this machine (safetensors)",
    "gguf": "A GGUF file on this machine",
    "hub": "A model of the Hugging Face hub (by name)",
}

MODEL_NAME_HELP = {
    "default": "",
    "folder": "Full path of the folder",
    "gguf": "Full path of the .gguf file",
    "hub": "Name on the hub, for example owner/model; it is downloaded to this machine",
}

STATES = {
    "queued": (":material/hourglass_empty:", "Waiting"),
    "loading": (":material/downloading:", "Preparing the model"),
    "running": (":material/play_circle:", "Writing"),
    "stopping": (":material/stop_circle:", "Stopping"),
    "finished": (":material/check_circle:", "Finished"),
    "stopped": (":material/stop_circle:", "Stopped by you"),
    "failed": (":material/error:", "Ended early"),
    "partial": (":material/task_alt:", "Closed as partial"),
}

ENDINGS = {
    "ending-token": "the text came to its end",
    "token-limit": "the token limit was reached",
    "stopped": "the run was closed here",
}

OPTIONS = {
    "--accept-delta": "the tick that accepts it",
    "--asset": "the name of the data asset",
    "--cap": "the cap",
    "--delta": "delta",
    "--epsilon": "epsilon",
    "--label": "the label list",
    "--label-column": "the label column",
    "--override-reason": "the reason for an exception",
    "--owner": "the owner",
    "--per-subset": "N",
    "--person-column": "the person column",
    "--record-tokens": "the record cap",
    "--rule": "the rule",
    "--shots": "the number of demonstrations",
    "--subsets": "M",
    "--text-column": "the text column",
    "--tokens": "T_max",
}
"""What the engine's sentences call by the command line's options, as the screens call it."""

ABOUT = (
    "DP-ICL Studio makes a few differentially private synthetic demonstrations from a private table. Everything "
    "private stays on this machine: no statistics are sent, nothing is fetched while you work with the default model."
)

HELP = """
**What this does.** From your private table it writes a few invented examples that may go into any prompt, for ever.

**Private rows** are read in memory on this machine. They are never stored, never put into an address or a log, and go
when you close the browser session.

**The privacy loss epsilon** says how much the released texts can depend on any one row (or person). Smaller is safer.
At epsilon 1, no output is more than about 2.7 times as likely with a row as with another in its place.

**delta** is the small chance with which that promise may fail. The rule keeps it far below one in the number of rows.

**Noise** is random change that hides single rows. Less epsilon needs more noise; more rows need less.

**Radius.** The mechanisms shrink a ball around the private vectors. A small ball needs little noise. Radius r is what
was looked for; R is what the noise was sized for. It starts at 0.707, half of the widest possible spread.

**A token** is a word piece, about four letters. Every token is paid for before it is shown.

**Badges.** *DP-released*, green with a shield: protected, may leave. *internal, not DP*, outlined with a lock: computed
from rows without noise, for your eyes. *public*, grey with a globe: known before any row was read.

**Keyboard.** Tab moves on, Shift+Tab back, Space or Enter presses, arrow keys move sliders and choices.
The colours of both themes follow your system; change them in the menu at the top right.
"""
