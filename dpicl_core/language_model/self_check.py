"""Checks of a freshly loaded model on public text: refuse one whose rows could depend on other rows or on padding.

They use the block layout that generation uses, so a model whose code ignores explicit masks or positions, or mixes
the rows of a batch, never sees a private row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError
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
