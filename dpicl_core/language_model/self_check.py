"""Checks of a freshly loaded model on public text: refuse one whose rows could depend on other rows or on padding.

They use the block layout that generation uses, so a model whose code ignores explicit masks or positions, or mixes
the rows of a batch, never sees a private row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError
from dpicl_core.language_model.sessions import RowRequest, SessionSize
from dpicl_core.values import TokenBlock, TokenPrompt

if TYPE_CHECKING:
    from dpicl_core.language_model.transformers_model import TransformersModel

INSTRUCTION = "Given a label, write a text.\n\n"
EXAMPLES = ("Label: Place\nText: Where?\n\n", "Label: Person\nText: Who was it?\n\n")
NEIGHBOURS = ("Label: Thing\n\n", "Label: Number\nText: How many came?\n\n")
TARGET = "Label: Place\nText: Which"
PADDING = 8
"""Padded positions of each example in the checks, at least."""

TOLERANCES = {"float32": 0.001, "bfloat16": 0.1, "float16": 0.02}
"""Largest accepted distance of the logits with and without padding, as a share of the logits' own spread."""


def require_sound(model: TransformersModel) -> None:
    """Raise ModelError unless outputs are finite, and masks, positions and the independence of rows hold."""
    plain = model.public_logits(_joined(model))
    padded = _log_row(model, NEIGHBOURS[0])
    other = _log_row(model.with_padding(model.tokenizer.encode("a")[-1]), NEIGHBOURS[1])
    if not np.array_equal(padded, other):
        raise ModelError(
            f"a row must depend on its own prompt alone, but with the model {model.info.name} on {model.info.device} "
            f"in {model.info.dtype} another row, or a masked position, changes it; choose another model, device or "
            "dtype."
        )
    centred = plain - plain.mean()
    spread = float(np.linalg.norm(centred))
    distance = float(np.linalg.norm(padded - padded.mean() - centred))
    bound = TOLERANCES[model.info.dtype]
    if not distance <= bound * spread:
        raise ModelError(
            f"the model {model.info.name} must give the same logits with and without padding to {bound:g} of their "
            f"spread, but they differ by {distance / spread if spread else distance:.2g} of it; choose a model that "
            "honours explicit masks and positions."
        )


def keeps_states(model: TransformersModel) -> bool:
    """Whether the model's code continues rightly from kept states, and a row's place and companions move no bit.

    Kept states must give the logits of the whole prompt. A model of which one of the two is not true is used all the
    same, each prompt anew at every token.
    """
    encode = model.tokenizer.encode
    width = max(len(encode(text)) for text in (*EXAMPLES, *NEIGHBOURS)) + PADDING
    pairs = (EXAMPLES, (NEIGHBOURS[1], EXAMPLES[0]), (NEIGHBOURS[0], EXAMPLES[1]), NEIGHBOURS)
    prompts = [TokenPrompt(_blocks(model, pair, width)) for pair in pairs]
    try:
        kept = _kept_logits(model, prompts, ((0, 1, 2, 3),))[0]
        moved = _kept_logits(model, prompts, ((3, 2), (1, 0, 2, 3)))[1]
    except Exception:  # the probe is public, and whatever the library does not like is a reason not to keep states
        return False
    expected = np.log(model.private_probabilities(prompts, np.arange(model.tokenizer.vocabulary_size)))
    bound = TOLERANCES[model.info.dtype]
    right = all(_close(a, b, bound) for a, b in zip(kept, expected, strict=True))
    return right and bool(np.array_equal(kept, moved[[1, 0, 2, 3]]))


def _kept_logits(
    model: TransformersModel, prompts: Sequence[TokenPrompt], steps: Sequence[Sequence[int]]
) -> list[NDArray[np.float64]]:
    """Logits (M, V) of each step's prompts, named by number, from one session's kept states."""
    from dpicl_core.language_model.kept_session import KeptStates

    instruction, tokens = prompts[0].blocks[0], len(prompts) * sum(prompts[0].widths)
    size = SessionSize(0, tokens, text_tokens=tokens)
    states = KeptStates(model, instruction, size, tokens * model.token_bytes(instruction))
    found = []
    for step in steps:
        request = RowRequest(0, tuple(prompts[number] for number in step), np.arange(1), tuple(step))
        ((_, logits),) = states.private([request])
        found.append(logits.float().cpu().numpy().astype(np.float64))
    return found


def _close(found: NDArray[np.float64], expected: NDArray[np.float64], share: float) -> bool:
    """Whether two rows of logits (V,), each up to a constant, differ by at most this share of their spread."""
    centred = expected - expected.mean()
    return bool(np.linalg.norm(found - found.mean() - centred) <= share * np.linalg.norm(centred))


def _log_row(model: TransformersModel, neighbour: str) -> NDArray[np.float64]:
    """Log-probabilities (V,) after the padded probe, computed in one batch with another row."""
    encode = model.tokenizer.encode
    width = max(len(encode(text)) for text in (*EXAMPLES, *NEIGHBOURS)) + PADDING
    rows = [_blocks(model, EXAMPLES, width), _blocks(model, (neighbour, EXAMPLES[1]), width)]
    prompts = [TokenPrompt(blocks) for blocks in rows]
    probabilities = model.private_probabilities(prompts, np.arange(model.tokenizer.vocabulary_size))
    row: NDArray[np.float64] = np.log(probabilities[0])
    return row


def _joined(model: TransformersModel) -> TokenPrompt:
    """The probe as one block without padding."""
    ids = tuple(id_ for block in _blocks(model, EXAMPLES, None) for id_ in block.ids)
    return TokenPrompt((TokenBlock(ids, len(ids)),))


def _blocks(model: TransformersModel, examples: tuple[str, ...], width: int | None) -> tuple[TokenBlock, ...]:
    encode = model.tokenizer.encode
    instruction, target = model.tokenizer.prefix_ids + encode(INSTRUCTION), encode(TARGET)
    shown = [encode(example) for example in examples]
    return (
        TokenBlock(instruction, len(instruction)),
        *(TokenBlock(ids, width or len(ids)) for ids in shown),
        TokenBlock(target, len(target)),
    )
