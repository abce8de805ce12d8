"""Model loaders for the child process in tests: named by `module:function`, imported there alone."""

from __future__ import annotations

import os
import time

from dpicl_core.errors import ModelError
from dpicl_core.language_model import ToyModel
from dpicl_core.language_model.toy import FIRST_BYTE_ID


def toy(name=None, *, progress=None):
    """The toy model, at once."""
    if progress:
        progress("load", 1.0)
    return ToyModel()


def slow_to_load(name=None, *, progress=None):
    """Loads for longer than anybody waits."""
    time.sleep(600)


def slow(name=None, *, progress=None):
    """The toy model, 0.1 s a token and texts that never end by themselves: a run lasts long enough to be watched."""
    return _without_end(ToyModel(observer=lambda asked, prompts: time.sleep(0.1) if asked == "public" else None))


def _without_end(model):
    """The model, whose texts go on to the last token."""
    model.tokenizer.forbidden_ids |= model.tokenizer.ending_ids
    model.tokenizer.ending_ids = frozenset()
    return model


MARKUP = ("<script>alert(1)</script>", "**bold**", "$x$", ":red[x]", "`code`", "[a](http://b.c)", ":material/lock:")


def markup(name=None, *, progress=None):
    """The toy model, all of whose tokens read as markup of one kind or another, and whose texts are never short."""
    model = _without_end(ToyModel())
    texts = model.tokenizer._texts
    for at in range(FIRST_BYTE_ID, len(texts)):
        texts[at] = f" {MARKUP[at % len(MARKUP)]}".encode()
    return model


def crashing(name=None, *, progress=None):
    """Ends its process, as the operating system does when memory runs out, at the third private call."""
    return ToyModel(observer=_at_private_call(3, lambda prompts: os._exit(9)))


def quoting(name=None, *, progress=None):
    """Raises an error whose message quotes the private prompts, as a library might."""

    def fail(prompts):
        texts = ToyModel().tokenizer
        raise RuntimeError(" ".join(texts.decode(block.ids) for block in prompts[0].blocks))

    return ToyModel(observer=_at_private_call(2, fail))  # a text may end with its second token


def missing(name=None, *, progress=None):
    """No model can be loaded."""
    raise ModelError("there is no model of that name; choose another one.")


def stuck(name=None, *, progress=None):
    """A model whose third private call never ends."""
    return ToyModel(observer=_at_private_call(3, lambda prompts: time.sleep(600)))


def _at_private_call(number, act):
    calls = []

    def observe(asked, prompts):
        if asked == "private":
            calls.append(asked)
            if len(calls) % number == 0:  # so that each run of the same child meets it
                act(prompts)

    return observe
