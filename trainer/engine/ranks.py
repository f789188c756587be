"""One process that trains, or several that train one model together.

An update of N ranks consumes N times ``accumulate`` micro-batches of the same
stream that one process has: rank r works on every N-th of them from its r-th
on. Gradients are summed with the weights of the micro-batches, so the update is
that of one process with N times ``accumulate``, up to rounding. Rank 0 alone
evaluates, saves, reports and obeys; what it finds is told to the others, which
wait for it as long as it takes.

With several ranks all that is random in a micro-batch is drawn from numbers
seeded by its place in the stream. It makes no difference which rank works on
it, and there is no state of random numbers that a checkpoint would have to
hold for each rank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from trainer.engine import gradients
from trainer.engine.exchange import Exchange, from_first, gathered, packed, together, unpacked
from trainer.engine.place import Place, here
from trainer.engine.progress import Position
from trainer.engine.seeding import seed_everything
from trainer.engine.task import Task
from trainer.protocol.events import Phase
from trainer.protocol.rank_files import rank_paths
from trainer.protocol.run_folder import Heartbeat, RunPaths
from trainer.telemetry.controls import Controls, StopRequested
from trainer.telemetry.reporter import Reporter

# Nobody else can know how long an evaluation takes. Whether a rank hangs is judged by the supervisor.
_PATIENCE: Final = timedelta(days=365)
_POLL_S: Final = 0.05
_NOTHING, _NO, _YES, _STOP, _MORE = range(5)
_MICRO_BATCH, _EPOCH = 11, 12  # streams of random numbers
T = TypeVar("T")


class RanksDiffer(Exception):
    """The ranks do not train the same model on the same examples; the message says in what they differ."""


@dataclass(frozen=True)
class Share:
    """What one rank does in one update, which consumes ``num_consumed`` from number ``first`` on."""

    micro_batches: list[Any]
    num_consumed: int
    epoch: int = 0
    first: int = 0


class Ranks(Protocol):
    """All processes of a training, as the loop of each of them sees it."""

    @property
    def count(self) -> int:
        """How many there are."""

    def meet(self, task: Task, parameters: Sequence[nn.Parameter], position: Position) -> None:
        """Wait until all have loaded, and make sure that they agree."""

    def shares(self, task: Task, position: Position, *, accumulate: int, num: int) -> Iterator[Share]:
        """What to do in each update of the rest of an epoch, which has ``num`` micro-batches."""

    def backward(self, task: Task, share: Share) -> gradients.UpdateLoss:
        """Run forward and backward over a share; losses and gradients are those of the whole update."""

    def led(self, act: Callable[[], T]) -> T:
        """Let rank 0 do it; every rank gets its answer, or its :class:`StopRequested`."""

    def prepare(self, task: Task, epoch: int, act: Callable[[], None]) -> None:
        """Let rank 0 prepare the task for an epoch; every rank has the same state afterwards."""

    def part(self) -> None:
        """All is done; let the others go."""


class Alone:
    """The only process; everything is done here and at once."""

    count = 1

    def meet(self, task: Task, parameters: Sequence[nn.Parameter], position: Position) -> None:
        """There is nobody to meet."""

    def shares(self, task: Task, position: Position, *, accumulate: int, num: int) -> Iterator[Share]:
        """All micro-batches, ``accumulate`` at a time."""
        stream = task.micro_batches(position.epoch, start=position.micro_batch)
        while micro_batches := list(islice(stream, accumulate)):
            yield Share(micro_batches, len(micro_batches))

    def backward(self, task: Task, share: Share) -> gradients.UpdateLoss:
        """Just that."""
        return gradients.backward(task, share.micro_batches)

    def led(self, act: Callable[[], T]) -> T:
        """Just do it."""
        return act()

    def prepare(self, task: Task, epoch: int, act: Callable[[], None]) -> None:
        """Just do it."""
        act()

    def part(self) -> None:
        """There is nobody to part from."""


class Several:
    """One of several processes."""

    def __init__(
        self, place: Place, paths: RunPaths, *, seed: int, reporter: Reporter, controls: Controls
    ) -> None:
        self.count = place.count
        self._place, self._paths, self._seed = place, paths, seed
        self._reporter, self._controls = reporter, controls
        self._exchange: Exchange | None = None

    def meet(self, task: Task, parameters: Sequence[nn.Parameter], position: Position) -> None:
        """Wait until all have loaded, and make sure that they agree.

        Raises:
            StopRequested: somebody has asked to stop meanwhile.
            RanksDiffer: weights, place or batches are not the same on all ranks.
        """
        self._await_all(position.step)
        backend = "gloo"
        if parameters[0].device.type == "cuda":
            torch.cuda.set_device(parameters[0].device)
            backend = "cpu:gloo,cuda:nccl"
        with together():
            store, rank, count = next(rendezvous("env://", timeout=_PATIENCE))
            own = PrefixStore(f"{self._paths.root.name}/{self._reporter.attempt}", store)
            dist.init_process_group(backend, store=own, rank=rank, world_size=count, timeout=_PATIENCE)
        self._exchange = Exchange(parameters)
        num_batches = task.num_micro_batches(position.epoch)
        facts = {
            "weights": _checksum(parameters),
            "step": position.step,
            "place in the epoch": position.micro_batch,
            "number of batches": num_batches,
        }
        _compare(list(facts), gathered(list(facts.values())))

    def shares(self, task: Task, position: Position, *, accumulate: int, num: int) -> Iterator[Share]:
        """Every N-th micro-batch; in the last update of an epoch there may be none left for this rank."""
        epoch, rank, count, first = position.epoch, self._place.rank, self.count, position.micro_batch
        stream = task.micro_batches(epoch, start=first + rank, every=count)
        while first < num:
            num_consumed = min(count * accumulate, num - first)
            mine = list(islice(stream, len(range(rank, num_consumed, count))))
            yield Share(mine, num_consumed, epoch, first)
            first += num_consumed

    def backward(self, task: Task, share: Share) -> gradients.UpdateLoss:
        """Forward and backward over this rank's micro-batches, and the sums over all ranks."""

        def seed(number: int) -> None:
            place = share.first + self._place.rank + number * self.count
            self._seed_for(_MICRO_BATCH, share.epoch, place)

        assert self._exchange is not None  # noqa: S101 - they have met
        mine = gradients.backward_sums(task, share.micro_batches, before=seed)
        return self._exchange.sum_update(mine).means()

    def led(self, act: Callable[[], T]) -> T:
        """Let rank 0 do it; the others wait, however long it takes.

        Raises:
            StopRequested: rank 0 was asked to stop.
            PeerLost: a rank is gone.
        """
        if not self._place.is_first:
            told: T = self._told()
            return told
        try:
            answer = act()
        except StopRequested:
            self._tell(_STOP)
            raise
        if answer is None or isinstance(answer, bool):
            self._tell({None: _NOTHING, False: _NO, True: _YES}[answer])
        else:
            content = packed(answer)
            self._tell(_MORE, num_bytes=len(content))
            from_first(content, num_bytes=len(content))
        return answer

    def prepare(self, task: Task, epoch: int, act: Callable[[], None]) -> None:
        """Rank 0 prepares an epoch, and the others take its state over."""

        def prepared() -> dict[str, Any]:
            self._seed_for(_EPOCH, epoch)
            act()
            return task.state_dict()

        state = self.led(prepared)
        if not self._place.is_first:
            task.load_state_dict(state)

    def part(self) -> None:
        """Leave the group."""
        with together():
            dist.destroy_process_group()

    def _seed_for(self, *place: int) -> None:
        """Make random numbers depend on a place in the training, and not on what was drawn before."""
        stream = np.random.SeedSequence([self._seed, *place])
        seed_everything(int(stream.generate_state(1)[0]))

    def _tell(self, word: int, *, num_bytes: int = 0) -> None:
        with together():
            dist.broadcast(torch.tensor([word, num_bytes]), src=0)

    def _told(self) -> Any:
        message = torch.zeros(2, dtype=torch.int64)
        with together():
            dist.broadcast(message, src=0)
        word, num_bytes = message.tolist()
        if word == _STOP:
            raise StopRequested("the run was asked to stop")
        if word == _MORE:
            return unpacked(from_first(None, num_bytes=num_bytes))
        return {_NOTHING: None, _NO: False, _YES: True}[word]

    def _await_all(self, step: int) -> None:
        """Rank 0 opens the door to the others and tells how they come along; all go on when it says so.

        Done with files: until the last moment everybody can still hear a wish to stop.
        """
        mine = rank_paths(self._paths, self._reporter.attempt, self._place.rank)
        mine.root.mkdir(parents=True, exist_ok=True)
        mine.is_ready.touch()
        if not self._place.is_first:
            first = rank_paths(self._paths, self._reporter.attempt, 0)
            while not first.has_called.exists():
                self._controls.stop_if_asked()
                time.sleep(_POLL_S)
            return
        advanced_at = 0.0
        while missing := self._missing():
            self._controls.stop_if_asked()
            beat = Heartbeat.load(missing[0].heartbeat)
            if beat is not None and beat.progress_at != advanced_at:
                advanced_at = beat.progress_at
                rank = missing[0].root.name
                self._reporter.phase(Phase.LOADING, step=step, detail=f"rank {rank} loads the same")
            time.sleep(_POLL_S)
        mine.has_called.touch()

    def _missing(self) -> list[Any]:
        others = [rank_paths(self._paths, self._reporter.attempt, rank) for rank in range(1, self.count)]
        return [one for one in others if not one.is_ready.exists()]


def ranks_of(paths: RunPaths, *, seed: int, reporter: Reporter, controls: Controls) -> Ranks:
    """The processes that train this run, seen from this one."""
    place = here()
    if place.is_alone:
        return Alone()
    return Several(place, paths, seed=seed, reporter=reporter, controls=controls)


def _checksum(parameters: Sequence[nn.Parameter]) -> int:
    """A number that other weights hardly have; exact, and computed where they are."""
    total = 0
    for number, parameter in enumerate(parameters, start=1):
        words = parameter.detach().contiguous().reshape(-1).view(torch.uint8)
        if words.numel() % 4 == 0:
            words = words.view(torch.int32)
        places = torch.arange(words.numel(), device=words.device) % 8191 + 1
        total += number * int((words.long() * places).sum())
    return total % 2**62


def _compare(names: Sequence[str], found: Sequence[Sequence[int]]) -> None:
    for place, name in enumerate(names):
        others = [rank for rank, facts in enumerate(found) if facts[place] != found[0][place]]
        if others:
            raise RanksDiffer(
                f"rank {others[0]} differs from rank 0 in its {name}: {found[others[0]][place]} instead of"
                f" {found[0][place]}. All ranks must read the same dataset, model and checkpoint; look"
                " whether a file has changed while the run started, and start it again."
            )
