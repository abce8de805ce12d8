"""Prompts as token blocks of public width: instruction, N capped examples, target label and released tokens.

Each part is encoded by itself and released ids are appended, so a text is never encoded twice and one row's
length moves nothing but its own padding.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpicl_core.language_model.protocol import Tokenizer
from dpicl_core.prompts import SEPARATOR, example_text, instruction_text, target_text
from dpicl_core.values import Example, Task, TokenBlock, TokenPrompt


class PromptEncoder:
    """Encodes one run's prompts.

    record_tokens: cap on label and text of one example together; the headers' own tokens come on top.
    """

    def __init__(self, task: Task, tokenizer: Tokenizer, record_tokens: int) -> None:
        self._task = task
        self._tokenizer = tokenizer
        self._separator = tokenizer.encode(SEPARATOR)
        self.record_tokens = record_tokens
        headers = example_text(task, Example("", ""))
        self._example_cap = len(tokenizer.encode(headers)) + record_tokens
        self._instruction = _full_block((*tokenizer.prefix_ids, *tokenizer.encode(instruction_text(task))))

    def example(self, example: Example) -> TokenBlock:
        """One example, cut to the cap, its separator behind it, padded to the public width."""
        # A cell can be megabytes long; no token holds more characters than this allows for.
        clipped = Example(example.label[: self._characters_kept], example.text[: self._characters_kept])
        ids = self._tokenizer.encode(example_text(self._task, clipped))[: self._example_cap]
        return TokenBlock((*ids, *self._separator), self.example_width)

    def is_cut(self, example: Example) -> bool:
        """Whether the cap cuts this example."""
        return len(self._tokenizer.encode(example_text(self._task, example))) > self._example_cap

    def public(self, label: str, released: Sequence[int]) -> TokenPrompt:
        """The public prompt: no example."""
        return TokenPrompt((self._instruction, self._tail(label, released)))

    def private(self, examples: Sequence[Example], label: str, released: Sequence[int]) -> TokenPrompt:
        """The prompt of one subset of N examples."""
        return self.with_examples([tuple(map(self.example, examples))], label, released)[0]

    def with_examples(
        self, subsets: Sequence[tuple[TokenBlock, ...]], label: str, released: Sequence[int]
    ) -> tuple[TokenPrompt, ...]:
        """The prompts of subsets whose examples are encoded already, all for one label and text so far."""
        tail = self._tail(label, released)
        return tuple(TokenPrompt((self._instruction, *blocks, tail)) for blocks in subsets)

    @property
    def example_width(self) -> int:
        """Public width of one example in tokens, its separator included."""
        return self._example_cap + len(self._separator)

    def text_width(self, label: str) -> int:
        """Tokens of the target label and its headers, before any released token."""
        return len(self._target(label))

    def tokens_at_most(self, label: str, per_subset: int, tokens: int) -> int:
        """Longest private prompt of a run, in tokens, padding included; a public number."""
        blocks = per_subset * self.example_width
        return self._instruction.width + blocks + len(self._target(label)) + tokens

    @property
    def _characters_kept(self) -> int:
        return 64 * self._example_cap

    def _target(self, label: str) -> tuple[int, ...]:
        return self._tokenizer.encode(target_text(self._task, label))

    def _tail(self, label: str, released: Sequence[int]) -> TokenBlock:
        return _full_block((*self._target(label), *released))


def _full_block(ids: tuple[int, ...]) -> TokenBlock:
    return TokenBlock(ids, len(ids))
