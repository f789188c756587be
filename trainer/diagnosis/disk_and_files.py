"""Disks, permissions, and checkpoints or indexes that are not what they should be."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature
from trainer.protocol.rungs import Rung

_BACK: Final = (Rung.PREVIOUS_CHECKPOINT,)

SIGNATURES: Final = (
    Signature(
        "disk_full",
        r"No space left on device|\[Errno 28\]|PytorchStreamWriter failed writing|unexpected pos \d+ vs \d+"
        r"|Disk quota exceeded|\[Errno 122\]|database or disk is full|There is not enough space on the disk",
        cause="The disk, or your share of it, is full; the file being written is cut off.",
        remedy="Free some space, then go on from the checkpoint before the last one.",
        source="https://github.com/pytorch/pytorch/issues/121833",
        rank=8,
        rungs=_BACK,
    ),
    Signature(
        "file_too_large",
        r"\[Errno 27\]|^(?:\S+: )?OSError: .*File too large|^File size limit exceeded|\bSIGXFSZ\b",
        cause="A file grew beyond the size allowed here: a limit of this user (ulimit -f) or of the file "
        "system (4 GiB on FAT).",
        remedy="Raise the limit (ulimit -f unlimited, or LimitFSIZE= of the service that starts the "
        "dashboard), or put the run folder on a file system for big files.",
        source="https://docs.python.org/3/library/errno.html#errno.EFBIG",
        rank=7,
    ),
    Signature(
        "disk_error",
        r"\[Errno 5\] Input/output error|Stale file handle|\[Errno 30\] Read-only file system",
        cause="The disk or network drive failed: it could not be read or written.",
        remedy="Run dmesg and look for errors of the drive; put the run folder on a local disk.",
        source="https://docs.python.org/3/library/errno.html#errno.EIO",
        rank=7,
    ),
    Signature(
        "permission",
        r"PermissionError: \[(?:Errno 1[3]|WinError 5)\]",
        cause="The program may not read or write a file it needs; the message names it.",
        remedy="Give yourself the right to it, or choose another folder.",
        source="https://docs.python.org/3/library/exceptions.html#PermissionError",
    ),
    Signature(
        "file_missing",
        r"^(?:\S+: )?FileNotFoundError: .+|Can't find a valid checkpoint at"
        r"|Unable to load weights from .*no file",
        cause="A file that should be read is not there; the message names it.",
        remedy="Correct the path, or make the file first.",
        source="https://docs.python.org/3/library/exceptions.html#FileNotFoundError",
        rank=4,
    ),
    Signature(
        "ckpt_device",
        r"Attempting to deserialize object on a (?:CUDA|MPS)? ?\w* ?device",
        cause="The checkpoint was saved on a GPU, and there is none here.",
        remedy="Load it with torch.load(..., map_location='cpu').",
        source="https://pytorch.org/docs/stable/generated/torch.load.html",
        rank=7,
    ),
    Signature(
        "ckpt_corrupt",
        r"PytorchStreamReader failed|failed finding central directory|invalid load key"
        r"|pickle data was truncated"
        r"|EOFError: Ran out of input|not a zip file"
        r"|(?:torch/(?:serialization|_weights_only_unpickler)\.py"
        r"|pickle\.load\()[^\n]*(?:\n[ \t][^\n]*){0,6}\nEOFError",
        cause="The checkpoint or file is cut off or damaged.",
        remedy="Go back to the checkpoint before it; this one cannot be repaired.",
        source="https://github.com/CompVis/stable-diffusion/issues/93",
        rank=6,
        rungs=_BACK,
    ),
    Signature(
        "weights_only",
        r"Weights only load failed",
        cause="The checkpoint holds more than tensors and plain values (paths, NumPy objects), which "
        "torch refuses to load.",
        remedy="Save tensors and plain values only. weights_only=False runs code from the file: use it only "
        "for files you made yourself.",
        source="https://pytorch.org/docs/stable/generated/torch.load.html",
        rank=7,
    ),
    Signature(
        "safetensors_corrupt",
        r"Error while deserializing header|MetadataIncompleteBuffer|HeaderTooLarge"
        r"|InvalidHeaderDeserialization",
        cause="A .safetensors file is cut off, or only a pointer to a file that was never downloaded.",
        remedy="Delete it and download it again.",
        source="https://github.com/huggingface/diffusers/issues/5520",
        rank=7,
    ),
    Signature(
        "state_dict_mismatch",
        r"Error\(s\) in loading state_dict for"
        r"|loaded state dict contains a parameter group that doesn't match",
        cause="The checkpoint belongs to a model of another shape than the one built here.",
        remedy="Start with the same model parameters the checkpoint was made with.",
        source="measured with torch 2.13",
        rank=7,
    ),
    Signature(
        "npz_schema",
        r"is not a file in the archive|Object arrays cannot be loaded when allow_pickle=False"
        r"|File is not a zip file",
        cause="The NPZ file lacks an array the program asks for, or holds Python objects instead of numbers.",
        remedy="Print numpy.load(file).files to see what is there, and save plain arrays of numbers.",
        source="measured with NumPy 2",
        rank=7,
    ),
    Signature(
        "faiss_read",
        r"Index type 0x[0-9a-f]+ \(.*\) not recognized|could not open .* for reading"
        r"|Error: '.*' failed: read error in .*\.(?:index|faiss|ivf)",
        cause="The file is no FAISS index, or a damaged one.",
        remedy="Build the index again; FAISS does not check it, so look for NaN in the vectors too.",
        source="measured with faiss-cpu 1.15.1",
        rank=6,
    ),
)
