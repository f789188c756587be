"""Where the reason of each variable is known from, by its name.

Addresses were looked up.  ``measured`` stands for a measurement of our own,
told in docs/environment.md; ``by design`` for something Signalbox itself needs.
"""

from __future__ import annotations

from typing import Final

MEASURED: Final = "measured"
BY_DESIGN: Final = "by design"

_PYTHON: Final = "https://docs.python.org/3/using/cmdline.html#environment-variables"
_POSIX: Final = "https://pubs.opengroup.org/onlinepubs/9699919799.2013edition/basedefs/V1_chap08.html"
_BSD_ENVIRON: Final = "https://man.freebsd.org/cgi/man.cgi?manpath=freebsd-release-ports&query=environ"
_XDG: Final = "https://specifications.freedesktop.org/basedir/latest"
_CUDA: Final = "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"
_HUB: Final = "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables"
_TEMPFILE: Final = "https://docs.python.org/3/library/tempfile.html#tempfile.gettempdir"
_MPS: Final = "https://docs.pytorch.org/docs/stable/mps_environment_variables.html"
_LOADER: Final = "https://docs.pytorch.org/docs/stable/data.html"
_PINNING: Final = "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
_DISTRIBUTED: Final = "https://docs.pytorch.org/docs/stable/distributed.html"
_FORKED_CUDA: Final = "https://github.com/pytorch/pytorch/issues/68861"

REFERENCES: Final[dict[str, str]] = {
    "PYTHONUNBUFFERED": _PYTHON,
    "PYTHONFAULTHANDLER": _PYTHON,
    "PYTHONIOENCODING": _PYTHON,
    "PYTHONPATH": BY_DESIGN,
    "SIGNALBOX_RUN_DIR": BY_DESIGN,
    "SIGNALBOX_AUTO_DEVICE": BY_DESIGN,
    "TOKENIZERS_PARALLELISM": "https://github.com/huggingface/datasets/pull/688",
    "USE_TF": "https://github.com/tensorflow/tensorflow/issues/99464",
    "PATH": _POSIX,
    "HOME": _POSIX,
    "LOGNAME": _POSIX,
    "LANG": _POSIX,
    "LC_ALL": _POSIX,
    "LC_CTYPE": _POSIX,
    "TZ": _POSIX,
    "TMPDIR": _POSIX,
    "USER": _BSD_ENVIRON,
    "TEMP": _TEMPFILE,
    "TMP": _TEMPFILE,
    "SYSTEMROOT": "https://docs.python.org/3/library/subprocess.html#subprocess.Popen",
    "USERPROFILE": "https://docs.python.org/3/library/os.path.html#os.path.expanduser",
    "PATHEXT": "https://docs.python.org/3/library/shutil.html#shutil.which",
    "LD_LIBRARY_PATH": "https://manpages.ubuntu.com/manpages/noble/man8/ld-linux.so.8.html",
    "CUDA_HOME": "https://docs.pytorch.org/docs/stable/_modules/torch/utils/cpp_extension.html",
    "CUDA_VISIBLE_DEVICES": _CUDA,
    "CUDA_DEVICE_ORDER": _CUDA,
    "HF_HOME": _HUB,
    "HF_HUB_OFFLINE": _HUB,
    "XDG_CACHE_HOME": _XDG,
    "XDG_RUNTIME_DIR": _XDG,
    "OMP_NUM_THREADS": MEASURED,
    "MKL_NUM_THREADS": "https://docs.pytorch.org/docs/stable/_sources/threading_environment_variables.rst.txt",
    "OPENBLAS_NUM_THREADS": "https://github.com/OpenMathLib/OpenBLAS/issues/3187",
    "NUMEXPR_MAX_THREADS": "https://numexpr.readthedocs.io/en/latest/user_guide.html",
    "VECLIB_MAXIMUM_THREADS": "https://developer.apple.com/forums/thread/666635",
    "OMP_WAIT_POLICY": "https://github.com/facebookresearch/faiss/issues/422",
    "KMP_DUPLICATE_LIB_OK": "https://github.com/faiss-wheels/faiss-wheels/issues/73",
    "GLOO_SOCKET_IFNAME": _DISTRIBUTED,
    "NCCL_SOCKET_IFNAME": _DISTRIBUTED,
    "PYTORCH_ENABLE_MPS_FALLBACK": _MPS,
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO": _MPS,
    "PYTORCH_ALLOC_CONF": "https://docs.pytorch.org/docs/stable/notes/cuda.html"
    "#optimizing-memory-usage-with-pytorch-alloc-conf",
    "PYTORCH_CUDA_ALLOC_CONF": "https://github.com/pytorch/pytorch/issues/183387",
    "SIGNALBOX_LOADER_NUM_WORKERS": _LOADER,
    "SIGNALBOX_LOADER_PIN_MEMORY": _PINNING,
    "SIGNALBOX_LOADER_PERSISTENT_WORKERS": _LOADER,
    "SIGNALBOX_LOADER_PREFETCH_FACTOR": _LOADER,
    "SIGNALBOX_LOADER_CONTEXT": _FORKED_CUDA,
}


def reference_of(name: str) -> str:
    """Where the reason of ``name`` is known from; empty for a variable that is not ours."""
    return REFERENCES.get(name, "")
