"""Places where a trainer stands still, told by one frame of its main thread: ``FILE FUNCTION``."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature
from trainer.protocol.rungs import Rung

SIGNATURES: Final = (
    Signature(
        "hang_dataloader",
        r"/torch/utils/data/|multiprocessing/pool\.py",
        cause="It hung while waiting for a batch: the DataLoader's workers do not deliver.",
        remedy="Use no DataLoader workers; if that helps, look at what they share: locks, open files, "
        "/dev/shm.",
        source="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
        role=Role.HANG,
        rungs=(Rung.WORKERS,),
        in_stacks=True,
    ),
    Signature(
        "hang_generate",
        r"/transformers/generation/| generate$",
        cause="It hung while generating text: it may only be slow, or never meet the end of a text.",
        remedy="Evaluate less often, generate fewer tokens, or leave the evaluation to the end.",
        source="https://huggingface.co/docs/transformers/main_classes/text_generation",
        role=Role.HANG,
        rungs=(Rung.EVALUATION_OFF,),
        in_stacks=True,
    ),
    Signature(
        "hang_openmp",
        r"/faiss/",
        cause="It hung inside FAISS, most likely waiting for OpenMP threads that are not there.",
        remedy="Use one OpenMP thread, or let search and mining run in a process of their own; never fork "
        "after torch or faiss has been used.",
        source="https://github.com/facebookresearch/faiss/issues/5206",
        role=Role.HANG,
        rungs=(Rung.THREADS, Rung.MINING_PROCESS),
        in_stacks=True,
    ),
    Signature(
        "hang_collective",
        r"/torch/distributed/",
        cause="It hung while waiting for the other GPU processes: one is gone, slower, or took another turn.",
        remedy="Look at the other processes' logs: the one that does not wait for the others is the cause.",
        source="https://docs.pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications",
        role=Role.HANG,
        in_stacks=True,
    ),
)
