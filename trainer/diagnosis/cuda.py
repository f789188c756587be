"""NVIDIA GPUs: memory, forks, asserts, drivers, and talking among several of them."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature
from trainer.protocol.rungs import Rung

_LESS: Final = (Rung.HALVE_BATCH, Rung.SHORTER, Rung.CPU)

SIGNATURES: Final = (
    Signature(
        "cuda_fork",
        r"Cannot re-initialize CUDA in forked subprocess",
        cause="A process was copied (forked) after the GPU had been used, by datasets.map with num_proc or "
        "by DataLoader workers.",
        remedy="Tokenise before the GPU is touched and with num_proc=None, start workers by spawn, and load "
        "to the CPU first.",
        source="https://github.com/pytorch/pytorch/issues/40403",
        rank=8,
        rungs=(Rung.WORKERS,),
    ),
    Signature(
        "cuda_oom",
        r"torch\.(?:cuda\.)?OutOfMemoryError|CUDA out of memory|CUDA error: out of memory|HIP out of memory"
        r"|CUDA driver error: out of memory|cudaErrorMemoryAllocation"
        r"|OOM when allocating tensor(?!.*(?:allocator cpu|device:CPU))"
        r"|RESOURCE_EXHAUSTED: .*(?:[Oo]ut of memory|\bOOM\b|Attempting to (?:reserve|allocate))",
        cause="The GPU's memory is used up, by this run or by another process; the message says how much by"
        " which.",
        remedy="Halve the batch (and double the accumulation), shorten sequences, or turn on gradient "
        "checkpointing; "
        "PYTORCH_ALLOC_CONF=expandable_segments:True helps against fragmentation.",
        source="https://github.com/pytorch/pytorch/issues/35901",
        rank=7,
        rungs=_LESS,
    ),
    Signature(
        "cublas_init",
        r"CUBLAS_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED)|cublas runtime error : library not initialized",
        cause="The GPU's math library (cuBLAS) could not start: the GPU's memory is full, or an id out of "
        "range was met just before.",
        remedy="Look at the GPU's free memory; if there is plenty, compare token ids with the size of the "
        "vocabulary.",
        source="https://github.com/EleutherAI/lm-evaluation-harness/issues/1689",
        rank=4,
        rungs=_LESS,
    ),
    Signature(
        "label_or_index_range",
        r"Assertion .?t >= 0 && t < n_classes|Target -?\d+ is out of bounds|index out of range in self"
        r"|Assertion .?-sizes\[i\] <= index && index < sizes\[i\]"
        r"|Assertion .?(?:srcIndex < srcSelectDimSize|input_val >= zero)",
        cause="A label or token id is outside the range the model was built for.",
        remedy="Compare the largest label with num_labels, and the largest token id with the vocabulary. On "
        "a GPU the line is right only with CUDA_LAUNCH_BLOCKING=1 or on the CPU.",
        source="https://github.com/pytorch/pytorch/issues/1204",
        rank=6,
        rungs=(Rung.CPU,),
        vague=r"device-side assert triggered",
    ),
    Signature(
        "cuda_illegal_memory",
        r"CUDA error: (?:an illegal memory access|unspecified launch failure|misaligned address)"
        r"|uncorrectable ECC error|GPU has fallen off the bus|cudaErrorIllegalAddress",
        cause="The GPU touched memory it must not: a faulty program, driver or card.",
        remedy="Start again in a fresh process. If it comes back, look for 'Xid' in dmesg, update the "
        "driver, and try another card.",
        source="https://github.com/h2oai/h2ogpt/issues/490",
        rank=5,
        rungs=(Rung.CPU,),
    ),
    Signature(
        "cuda_no_kernel",
        r"no kernel image is available for execution",
        cause="The installed torch was not built for this GPU's generation.",
        remedy="Install the torch wheel for the CUDA version that supports this card.",
        source="https://github.com/pytorch/pytorch/issues/31285",
        rank=7,
        rungs=(Rung.CPU,),
    ),
    Signature(
        "nvml_mismatch",
        r"Failed to initialize NVML: Driver/library version mismatch",
        cause="The NVIDIA driver was upgraded while its old kernel module is still loaded.",
        remedy="Reboot, or reload the nvidia kernel modules.",
        source="https://github.com/mozilla/translations/issues/1167",
        rank=7,
        rungs=(Rung.CPU,),
    ),
    Signature(
        "no_accelerator",
        r"Torch not compiled with CUDA enabled|not linked with support for \w+ devices"
        r"|Found no NVIDIA driver"
        r"|No CUDA GPUs are available|CUDA error: invalid device ordinal|no CUDA-capable device is detected"
        r"|Invalid device id|Could not run 'aten::empty[\w.]*' with arguments from the '\w+' backend",
        cause="The device asked for is not there, or this build of torch cannot use it.",
        remedy="Choose the device 'auto' or 'cpu', or install a torch build with CUDA and its driver.",
        source="measured with torch 2.13",
        rungs=(Rung.CPU,),
    ),
    Signature(
        "cuda_driver_old",
        r"The NVIDIA driver on your system is too old|CUDA driver version is insufficient for CUDA runtime",
        cause="The NVIDIA driver is older than the CUDA version torch was built with.",
        remedy="Update the driver, or install a torch wheel for an older CUDA.",
        source="https://github.com/pytorch/pytorch/issues/4546",
        rank=6,
        rungs=(Rung.CPU,),
    ),
    Signature(
        "cudnn",
        r"cuDNN error: CUDNN_STATUS_\w+|CUDNN_STATUS_(?:NOT_INITIALIZED|EXECUTION_FAILED|INTERNAL_ERROR)"
        r"|Unable to find a valid cuDNN algorithm|Could not create cudnn handle"
        r"|Failed to get convolution algorithm",
        cause="The GPU's library for layers (cuDNN) failed: most often too little GPU memory, or a version "
        "that does not fit.",
        remedy="Halve the batch; if that changes nothing, reinstall torch so that it brings its own cuDNN.",
        source="https://github.com/tensorflow/tensorflow/issues/24828",
        rank=4,
        rungs=_LESS,
    ),
    Signature(
        "device_mismatch",
        r"Expected all tensors to be on the same device|is not on the expected device"
        r"|Input type \(.*\) and weight type \(.*\) should be the same",
        cause="The model and its input lie on different devices.",
        remedy="Decide on the device once, and move model and batch to it.",
        source="measured with torch 2.13",
        rungs=(Rung.CPU,),
    ),
    Signature(
        "nccl_timeout",
        r"Watchdog caught collective operation timeout"
        r"|Exception \(either an error or timeout\) detected by watchdog",
        cause="One GPU process waited too long for the others: one had died, fallen behind, or took another"
        " turn.",
        remedy="Look for the first process that died, in all their logs. Raise the timeout only if one of "
        "them evaluates for long.",
        source="https://github.com/pytorch/pytorch/issues/118369",
        rank=2,
    ),
    Signature(
        "nccl_error",
        r"NCCL error(?: in)?: .*|ncclSystemError|ncclUnhandledCudaError|ncclRemoteError|ncclInternalError",
        cause="The GPU processes could not talk to each other.",
        remedy="Start again with NCCL_DEBUG=INFO, and look for a process that died first, at the network "
        "device, and at /dev/shm.",
        source="https://github.com/pytorch/pytorch/issues/38702",
        rank=3,
    ),
)
