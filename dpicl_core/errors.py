"""The exceptions of the engine: every message is one sentence that a person can act on.

A message states what is wrong, the bound, the value and what to do. It never quotes a private text.
"""


class DPICLError(Exception):
    """Base of all errors that the engine raises on purpose; its text is safe to show."""


class DataError(DPICLError):
    """The private table cannot be read, or cannot carry the plan."""


class ColumnsNotFoundError(DataError):
    """No column has the name of the texts or of the labels; whoever knows the table can name them.

    columns: the names of the first line, for the steward's eyes; never part of the message.
    """

    def __init__(self, message: str, columns: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class ConfigError(DPICLError):
    """A public setting is out of its bounds, or settings contradict each other."""


class ModelError(DPICLError):
    """The language model cannot be found, verified, loaded or run."""


class BudgetError(DPICLError):
    """The privacy budget does not allow what was asked."""


class ExportError(DPICLError):
    """A result cannot be written, read back or verified."""


class LedgerError(DPICLError):
    """The ledger cannot be opened, written or trusted; nothing that it did not store was shown."""
