"""A model whose every answer is written down: what the measures must find is then known beforehand."""

from __future__ import annotations

import numpy as np

from dpicl_core.language_model import ToyTokenizer


class FakeScorer:
    """says(prompt, answer): the probability of an answer after a prompt, both as text; the answer without its blank.

    replies(prompt): the greedy answer. asked: every prompt that was scored.
    """

    def __init__(self, says=None, replies=None):
        self.tokenizer = ToyTokenizer(with_prefix=False)
        self.name = "fake"
        self._says, self._replies = says, replies
        self.asked = []

    def log_probabilities(self, shared, queries, continuations, *, closing=False, done=None):
        rows = []
        for number, (query, answers) in enumerate(zip(queries, continuations, strict=True)):
            prompt = self.tokenizer.decode([*shared, *query])
            self.asked.append(prompt)
            rows.append([self._says(prompt, self.tokenizer.decode(answer)[1:]) for answer in answers])
            if done:
                done(number + 1)
        return np.log(np.array(rows, dtype=float))

    def greedy(self, shared, queries, tokens, *, done=None):
        texts = [self._replies(self.tokenizer.decode([*shared, *query])) for query in queries]
        return [self.tokenizer.encode(text)[:tokens] for text in texts]


def query_of(prompt):
    """The text that a prompt asks about."""
    return prompt.rsplit("Sentence: ", 1)[1].rsplit("\n", 1)[0]
