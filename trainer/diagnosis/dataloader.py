"""DataLoader workers and other child processes: how they start, die and keep others waiting."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature
from trainer.protocol.rungs import Rung

SIGNATURES: Final = (
    Signature(
        "spawn_bootstrap",
        r"finished its\s+bootstrapping phase",
        cause="A child process ran the main script again, because the script starts work when it is "
        "imported.",
        remedy="Put the script's entry under if __name__ == '__main__':, or use no workers.",
        source="https://github.com/pytorch/pytorch/issues/5858",
        rank=8,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "spawn_pickle",
        r"Can't pickle|cannot pickle '|Can't get attribute '.*' on <module '__main__'"
        r"|Can't get local object",
        cause="Something handed to a worker process cannot be sent there: a lambda, a local function or "
        "an open file.",
        remedy="Move functions and datasets to the top of a module, or use no workers.",
        source="https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods",
        rank=6,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "dl_bus",
        r"is killed by signal: Bus error|Unexpected bus error encountered in worker",
        cause="The workers ran out of shared memory: /dev/shm is too small (64 MB in a container by "
        "default).",
        remedy="Start the container with --shm-size=8g or --ipc=host, or use no workers.",
        source="https://github.com/pytorch/pytorch/issues/5040",
        rank=7,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "dl_killed",
        r"DataLoader worker \(pid\(?s?\)? ?[\d, ]+\) (?:is killed by signal|exited unexpectedly)",
        cause="A DataLoader worker process died: ended for want of memory, or crashed.",
        remedy="Use no workers to see the real error, and look at memory: each worker may hold its own copy "
        "of the dataset.",
        source="https://github.com/pytorch/pytorch/issues/8976",
        rank=2,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "dl_timeout",
        r"DataLoader timed out after \d+ seconds",
        cause="A worker did not deliver a batch in time: it is slow, or stuck.",
        remedy="Use no workers and measure how long one example takes.",
        source="measured with torch 2.13",
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "dl_worker_exc",
        r"Caught \w+ in DataLoader worker process \d+",
        cause="The dataset raised an exception inside a worker.",
        remedy="Read the inner traceback ('Original Traceback'): it names the line of the dataset that "
        "failed.",
        source="measured with torch 2.13",
        rank=2,
    ),
    Signature(
        "dl_persistent",
        r"persistent_workers option needs num_workers > 0",
        cause="persistent_workers=True makes no sense without workers.",
        remedy="Set persistent_workers=False, or num_workers above 0.",
        source="measured with torch 2.13",
        rank=7,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "fd_limit",
        r"Too many open files|\[Errno 24\]|received 0 items of ancdata",
        cause="The process has too many files open; workers share tensors through open files.",
        remedy="Raise the limit (ulimit -n 4096), or "
        "torch.multiprocessing.set_sharing_strategy('file_system').",
        source="https://github.com/pytorch/pytorch/issues/973",
        rank=7,
        rungs=(Rung.OPEN_FILES, Rung.WORKERS),
    ),
    Signature(
        "shared_memory",
        r"unable to (?:open|allocate|mmap|resize|write to) (?:shared memory|file <?/?torch_)"
        r"|torch_shm_manager.*(?:error|failed)",
        cause="Shared memory between processes could not be had: /dev/shm is full or too small.",
        remedy="Use no workers, clear /dev/shm of leftovers, or give the container --shm-size=8g.",
        source="https://github.com/pytorch/pytorch/issues/14768",
        rank=6,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "tokenizers_fork",
        r"The current process just got forked, after parallelism has already been used",
        cause="The tokenizer's threads had been used before workers were forked; it went on without them.",
        remedy="Leave it: nothing is broken. TOKENIZERS_PARALLELISM=false silences it.",
        source="https://github.com/NVIDIA/garak/issues/750",
        role=Role.WARNING,
    ),
)
