"""What a person sees while a run goes on: released values alone, on standard error."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from dpicl_core.events import DemonstrationFinished, ReleasedEvent, RunStarted, TokenReleased


class _TokensPerSecond(ProgressColumn):
    """Released tokens per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.2f} tokens/s" if task.speed else "-- tokens/s")


class RunProgress:
    """A live table of growing demonstrations on a terminal; one line per finished demonstration elsewhere."""

    def __init__(self, tokens_per_demonstration: int, console: Console | None = None) -> None:
        self._limit = tokens_per_demonstration
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("tokens"),
            BarColumn(),
            MofNCompleteColumn(),
            _TokensPerSecond(),
            TextColumn("time left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task_id = self._bar.add_task("tokens", total=None)
        self._rows: list[tuple[str, int, str]] = []
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)

    def __enter__(self) -> RunProgress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, event: ReleasedEvent) -> None:
        """Draw one released event."""
        if isinstance(event, RunStarted):
            self._rows = [(label, 0, "") for label in event.target_labels]
            self._bar.update(self._task_id, total=len(event.target_labels) * self._limit)
        elif isinstance(event, TokenReleased):
            label, _, _ = self._rows[event.demonstration]
            self._rows[event.demonstration] = (label, event.position + 1, event.text)
            self._bar.advance(self._task_id)
        elif isinstance(event, DemonstrationFinished):
            self._bar.advance(self._task_id, self._limit - len(event.token_ids))
            if not self._console.is_terminal:
                line = f"{event.demonstration + 1}. {event.label}: {event.text}"
                self._console.print(Text(line), soft_wrap=True)
        if self._console.is_terminal:
            self._live.update(Group(self._table(), self._bar))

    def _table(self) -> Table:
        table = Table(box=None, expand=True)
        for heading in ("", "label", "token", "text so far"):
            table.add_column(heading, ratio=1 if heading == "text so far" else None)
        for index, (label, count, text) in enumerate(self._rows):
            table.add_row(str(index + 1), Text(label), f"{count} of {self._limit}", Text(text))
        return table
