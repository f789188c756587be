"""All rules; a new one is a file here, a line below, its test and its row in ``docs/alerts.md``."""

from __future__ import annotations

from trainer.supervisor.alerts.at_chance import AtChance
from trainer.supervisor.alerts.disk_space import DiskSpace
from trainer.supervisor.alerts.exploding_gradients import ExplodingGradients
from trainer.supervisor.alerts.loss_spike import LossSpike
from trainer.supervisor.alerts.memory_leak import MemoryLeak
from trainer.supervisor.alerts.memory_room import MemoryRoom
from trainer.supervisor.alerts.not_finite import NotFinite
from trainer.supervisor.alerts.overfitting import Overfitting
from trainer.supervisor.alerts.plateau import Plateau
from trainer.supervisor.alerts.recall_zero import RecallZero
from trainer.supervisor.alerts.rule import Rule
from trainer.supervisor.alerts.stall import Stalled
from trainer.supervisor.alerts.throughput import Throughput
from trainer.supervisor.alerts.vanishing_gradients import VanishingGradients
from trainer.supervisor.alerts.zero_loss import ZeroLoss

RULES: tuple[type[Rule], ...] = (
    NotFinite,
    ZeroLoss,
    LossSpike,
    Plateau,
    ExplodingGradients,
    VanishingGradients,
    RecallZero,
    AtChance,
    Overfitting,
    Throughput,
    DiskSpace,
    MemoryRoom,
    MemoryLeak,
    Stalled,
)


def new_rules() -> list[Rule]:
    """Fresh rules for one attempt."""
    return [rule() for rule in RULES]
