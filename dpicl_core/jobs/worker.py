"""The child process: holds the model, does one order after the other, at low priority, and prints nothing.

Started as `python -m dpicl_core.jobs.worker ORDERS RELEASED INTERNAL LOADER` with three inherited pipe ends. It ends
when the server's end of the orders pipe closes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from dpicl_core.charged_runs import ReadyRun, pay, resume
from dpicl_core.charged_runs import run as run_paid
from dpicl_core.errors import DPICLError
from dpicl_core.events import ReleasedEvent, StewardDiagnostics
from dpicl_core.jobs import messages as say
from dpicl_core.jobs.tasks import unpacked_task
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.ledger import OverTheCapError
from dpicl_core.runs import RunRecord, check_context

NICENESS = 19
"""How far a run steps back before the screens where both want the processor, unless DPICL_NICENESS (0 to 19) says
otherwise. At 10 a click beside a run took 1.7 times as long as without one, at 19 it took 1.4 times."""

KEPT_RUNS = 6
"""Runs whose diagnostics the child keeps, so that they can be opened after the run: those of a comparison and one more.
Older ones are dropped."""


class _StopRequested(DPICLError):
    """A person pressed Stop; the words go into the ledger."""


class _ServerGone(DPICLError):
    """Nobody listens any more; the words go into the ledger."""


class Worker:
    """Carries out orders with one model in memory. loader: `module:function` that loads a model by name."""

    def __init__(self, orders: Connection, released: Connection, internal: Connection, loader: str) -> None:
        self._orders = orders
        self._released = released
        self._internal = internal
        self._loader = loader
        self._model: tuple[str | None, LanguageModel] | None = None
        self._kept: OrderedDict[str, list[StewardDiagnostics]] = OrderedDict()
        self._revealed: set[str] = set()
        self._waiting: list[say.RunOrder | say.TaskOrder] = []

    def serve(self) -> None:
        """Until the server goes away."""
        while True:
            order = self._waiting.pop(0) if self._waiting else self._orders.recv()
            if isinstance(order, say.RunOrder):
                self._guard(order.run_id, "run", partial(self._run, order))
            elif isinstance(order, say.TaskOrder):
                self._guard(order.order_id, "work", partial(self._do, order))
            else:
                self._side_order(order, current=None)

    def _guard(self, order_id: str, noun: str, work: Callable[[], None]) -> None:
        """Report a failure in one safe sentence: of an error whose text may quote a row, only the kind."""
        try:
            work()
        except _StopRequested:
            self._released.send(say.Stopped(order_id))
        except _ServerGone:
            raise
        except OverTheCapError as error:
            self._released.send(say.Failed(order_id, error.plain()))
        except DPICLError as error:
            self._released.send(say.Failed(order_id, str(error)))
        except (EOFError, BrokenPipeError):
            raise
        except MemoryError:
            self._released.send(say.Failed(order_id, "memory ran out; lower M, N or the record cap, and start again."))
        except Exception as error:
            kind = type(error).__name__
            sentence = f"the {noun} ended with {kind}; its message is withheld because it may hold private text."
            self._released.send(say.Failed(order_id, sentence))

    def _load(self, name: str | None) -> LanguageModel:
        if self._model is None or self._model[0] != name:
            self._model = None
            module, function = self._loader.split(":")
            load = getattr(importlib.import_module(module), function)
            self._model = (name, load(name, progress=lambda stage, part: self._stage(stage, part)))
        self._released.send(say.ModelReady(self._model[1].info))
        return self._model[1]

    def _stage(self, stage: str, fraction: float) -> None:
        self._released.send(say.ModelStage(stage, fraction))

    def _run(self, order: say.RunOrder) -> None:
        model = self._load(order.model)
        self._revealed.discard(order.run_id)
        self._kept[order.run_id] = []
        while len(self._kept) > KEPT_RUNS:
            self._forget(next(iter(self._kept)))

        def tell(event: ReleasedEvent) -> None:
            with _listened_to():
                self._released.send(say.Told(order.run_id, event))
                self._take_side_orders(order.run_id)

        def observe(seen: StewardDiagnostics) -> None:
            self._kept[order.run_id].append(seen)
            if order.run_id in self._revealed:
                self._internal.send(say.Diagnostics(order.run_id, (seen,)))

        self._take_side_orders(order.run_id)
        self._released.send(say.Done(order.run_id, self._made(order, model, tell, observe)))

    def _made(
        self,
        order: say.RunOrder,
        model: LanguageModel,
        tell: Callable[[ReleasedEvent], None],
        observe: Callable[[StewardDiagnostics], None],
    ) -> RunRecord:
        """Pay, say so, then draw; or go on with what was paid before. Every token is stored before it is told."""
        work = say.unpacked(order)
        if not isinstance(work, ReadyRun):
            return resume(
                work.stored.id,
                work.dataset,
                model,
                ledger=work.ledger,
                actor=work.actor,
                on_event=tell,
                observe=observe,
            )
        check_context(work.plan, model)
        paid = pay(work, model.info)[0]
        self._released.send(say.Paid(order.run_id, paid.asset.id, paid.asset.name))
        self._take_side_orders(order.run_id)
        return run_paid(paid, model, on_event=tell, observe=observe)

    def _do(self, order: say.TaskOrder) -> None:
        """A task: its stages are told as they come, and each of them may find that a person pressed Stop."""
        model = self._load(order.model)

        def tell(stage: str, fraction: float) -> None:
            with _listened_to():
                self._released.send(say.TaskStage(order.order_id, stage, fraction))
                self._take_side_orders(order.order_id)

        tell("starting", 0.0)
        result = unpacked_task(order.packed).run(model, tell)
        self._internal.send(say.Answer(order.order_id, result))
        self._released.send(say.Answered(order.order_id))

    def _take_side_orders(self, current: str) -> None:
        while self._orders.poll():
            order = self._orders.recv()
            if isinstance(order, say.RunOrder | say.TaskOrder):
                self._waiting.append(order)
            else:
                self._side_order(order, current=current)

    def _side_order(self, order: say.StopOrder | say.RevealOrder | say.ForgetOrder, *, current: str | None) -> None:
        if isinstance(order, say.StopOrder):
            if order.run_id == current:
                raise _StopRequested("stopped by a person on the screens")
        elif isinstance(order, say.RevealOrder):
            if order.run_id in self._kept and order.run_id not in self._revealed:
                self._revealed.add(order.run_id)
                self._internal.send(say.Diagnostics(order.run_id, tuple(self._kept[order.run_id])))
        elif order.run_id != current:
            self._forget(order.run_id)

    def _forget(self, run_id: str) -> None:
        self._kept.pop(run_id, None)
        self._revealed.discard(run_id)


@contextlib.contextmanager
def _listened_to() -> Iterator[None]:
    """A pipe that closed in the middle of a run: the run ends with a reason that a person understands."""
    try:
        yield
    except (EOFError, BrokenPipeError):
        raise _ServerGone("the server of the screens was gone") from None


def _be_modest() -> None:
    """Lower priority than the server, and no memory image on disk when something crashes."""
    asked = os.environ.get("DPICL_NICENESS", "")
    niceness = int(asked) if asked in map(str, range(NICENESS + 1)) else NICENESS
    with contextlib.suppress(OSError, AttributeError):
        os.nice(niceness)
    # the child is a session of its own, and where Linux shares the processor by session (autogroup) niceness counts
    # inside the session alone: the session has to be nice as well
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(f"{niceness}\n", "ascii")
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(arguments: list[str]) -> None:
    """Serve orders on the inherited pipe ends."""
    _be_modest()
    orders, released, internal = (int(argument) for argument in arguments[:3])
    worker = Worker(
        Connection(orders, writable=False),
        Connection(released, readable=False),
        Connection(internal, readable=False),
        arguments[3],
    )
    with contextlib.suppress(EOFError, BrokenPipeError, _ServerGone):
        worker.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
