"""What is printed because of a death, and ends that somebody else decided."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature
from trainer.protocol.rungs import Rung

# read signal by signal in trainer.diagnosis.crashes, where the status and the machine say more
BUS_ERROR: Final = Signature(
    "bus_error",
    r"Fatal Python error: Bus error",
    cause="It touched a page of a mapped file, or of shared memory, that is not there: the file was cut "
    "short or replaced while it was mapped, or there was no room for the page.",
    remedy="Look which file the lines below read (memory-mapped .npy, .safetensors, an index): write it "
    "anew, whole, and never in place while a run uses it. Look at df -h /dev/shm: workers need room there.",
    source="https://man7.org/linux/man-pages/man2/mmap.2.html",
    role=Role.SYMPTOM,
    rank=4,
)
INTEGER_DIVISION: Final = Signature(
    "integer_division",
    r"Fatal Python error: Floating point exception",
    cause="Code outside Python divided a whole number by zero; numbers with a point never end a program so.",
    remedy="Look for a size of 0 where the lines below point to: an empty batch, a dimension, a number of "
    "lists or clusters, a group count.",
    source="https://man7.org/linux/man-pages/man7/signal.7.html",
    role=Role.SYMPTOM,
    rank=4,
)
SIGNATURES: Final = (
    BUS_ERROR,
    INTEGER_DIVISION,
    Signature(
        "scheduler_limit",
        r"DUE TO TIME LIMIT|CANCELLED AT \S+ DUE TO|DUE TO PREEMPTION|job killed: walltime .* exceeded"
        r"|The node was low on resource",
        cause="The cluster ended the job: its time was up, or the machine failed or was needed by others.",
        remedy="Start it again from the last checkpoint; ask for more time, or save checkpoints more often.",
        source="https://slurm.schedmd.com/sbatch.html",
        rank=8,
        anywhere=True,
    ),
    Signature(
        "faulthandler_hdr",
        r"Fatal Python error: (?:Segmentation fault|Aborted|Bus error|Illegal instruction"
        r"|Floating point exception)"
        r"|Windows fatal exception: (?:access violation|stack overflow|code 0x\w+)",
        cause="Code outside Python crashed: a library written in C or C++, or memory that was overwritten.",
        remedy="Below this line the log shows where each thread was; the first file that is not Python's own "
        "names the package. Update that one; where it is faiss, searching in a process of its own helps.",
        source="https://docs.python.org/3/library/faulthandler.html",
        role=Role.SYMPTOM,
        rank=3,
    ),
    Signature(
        "terminate_called",
        r"terminate called (?:after|without)|libc\+\+abi: terminating",
        cause="Code outside Python met an error nobody caught.",
        remedy="Read the line that begins with what(): it tells the error itself.",
        source="https://github.com/open-mmlab/mmrotate/issues/500",
        role=Role.SYMPTOM,
        rank=2,
    ),
    Signature(
        "child_failed",
        r"torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError",
        cause="One of the processes torchrun had started failed; torchrun itself is not the reason.",
        remedy="Look at the first traceback above it, of the rank named under 'Root Cause'.",
        source="https://docs.pytorch.org/docs/stable/elastic/errors.html",
        role=Role.SYMPTOM,
        rank=1,
    ),
    Signature(
        "rank_killed",
        r"^\s*rank\s+: \d+ \(local_rank: \d+\)\n\s*exitcode\s+: -\d+ \(pid: \d+\).*\n.*\n"
        r"\s*traceback\s*: Signal \d+ \((?!SIGTERM)SIG\w+\) received by PID \d+",
        cause="A signal ended one of the processes torchrun had started, and torchrun ended the others.",
        remedy="The lines name the rank. SIGKILL is mostly the kernel's, for lack of memory: fewer processes "
        "or smaller batches; SIGSEGV and SIGABRT are a native crash: look at that rank's own last lines.",
        source="https://docs.pytorch.org/docs/stable/elastic/errors.html",
        rank=4,
        rungs=(Rung.RESTART,),
        anywhere=True,
    ),
    Signature(
        "rank_lost",
        r"another rank is gone \(|Connection closed by peer \["
        r"|remote process exited or there was a network error",
        cause="A process that trained together with this one was gone; this one only noticed it.",
        remedy="Look at the output of the other ranks: the one that ended first is the cause.",
        source="docs/ranks.md",
        role=Role.SYMPTOM,
        rank=1,
    ),
    Signature(
        "ranks_differ",
        r"RanksDiffer: rank \d+ differs from rank 0 in its",
        cause="The processes that train together did not start with the same weights or batches.",
        remedy="Look whether dataset, model or checkpoint changed during the start; then start it again.",
        source="docs/ranks.md",
        rank=6,
        rungs=(Rung.RESTART,),
    ),
    Signature(
        "leaked_semaphore",
        r"There appear to be \d+ leaked (?:semaphore|shared_memory) objects",
        cause="Python tidied up after a process that had died before; this line is not why.",
        remedy="Look at what was printed before it.",
        source="https://github.com/apple/ml-stable-diffusion/issues/8",
        role=Role.SYMPTOM,
        rank=0,
    ),
)
