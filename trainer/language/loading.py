"""Tokenizers, configurations and models of a source, loaded by transformers.

Never with code that comes with a model, never from pickles, and from the
network only while the source is being fetched.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import huggingface_hub
import transformers
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from huggingface_hub.utils.tqdm import tqdm
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from trainer.datasets.records import Tell
from trainer.language.sources import PATTERNS, ModelError, ModelSource, folder_source, is_offline

log = logging.getLogger(__name__)
_MOST_ABSENT: Final = 0.5
_SHOWN: Final = 4


def keep_quiet() -> None:
    """No bars and no hints of the library in a run's output: neither is an error, and both look like one."""
    words: Any = transformers.logging
    words.set_verbosity_error()
    words.disable_progress_bar()


def fetched(source: ModelSource, tell: Tell) -> ModelSource:
    """``source`` on disk: a hub model is fetched into the Hugging Face cache, or found there when offline.

    Raises:
        ModelError: it cannot be fetched, or what came cannot be used.
    """
    if source.kind != "hub":
        return source
    offline = is_offline()
    tell(f"looking for {source.name} {'in the cache' if offline else 'on the hub'}", 0.0)
    try:
        folder = huggingface_hub.snapshot_download(
            source.name,
            allow_patterns=list(PATTERNS),
            local_files_only=offline,
            tqdm_class=_telling(source.name, tell),
        )
    except LocalEntryNotFoundError as exc:
        reason = "HF_HUB_OFFLINE is set" if offline else "the hub cannot be reached"
        raise ModelError(
            f"model {source.name!r} is not in the local cache and {reason}; name a folder, or fetch it once "
            "where there is a network"
        ) from exc
    except (HfHubHTTPError, ValueError, OSError) as exc:
        first_line = str(exc).strip().split("\n", 1)[0]
        raise ModelError(f"model {source.name!r} cannot be fetched from the hub: {first_line}") from exc
    found = folder_source(Path(folder), name=source.name)
    return ModelSource("folder", source.name, found.folder, found.content_hash)


def load_tokenizer(source: ModelSource) -> PreTrainedTokenizerFast:
    """The tokenizer of a folder, with character offsets and a padding token.

    Raises:
        ModelError: it cannot be read, or is not one of the fast ones.
    """
    folder = _folder_of(source)
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as exc:
        raise ModelError(f"{folder}: its tokenizer cannot be loaded ({_first_line(exc)})") from exc
    except Exception as exc:
        if type(exc) is not Exception:  # what the tokenizers library raises for a file it cannot read
            raise
        raise ModelError(f"{folder}: its tokenizer cannot be loaded ({_first_line(exc)})") from exc
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{folder}: its tokenizer tells no character positions; convert it to a fast one "
            "(a folder with tokenizer.json)"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        raise ModelError(f"{folder}: its tokenizer has neither a padding nor an end token; add one")
    checked: PreTrainedTokenizerFast = tokenizer
    return checked


def load_config(source: ModelSource, **changes: Any) -> PreTrainedConfig:
    """The configuration of a folder with ``changes``, e.g. ``num_labels``.

    Raises:
        ModelError: transformers does not know this kind of model.
    """
    folder = _folder_of(source)
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True, **changes
        )
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ModelError(f"{folder}: its config.json cannot be used ({_first_line(exc)})") from exc
    return config


def load_model(
    auto_class: Any,
    source: ModelSource,
    config: PreTrainedConfig,
    tell: Tell,
    *,
    unread: tuple[str, ...] = (),
    **options: Any,
) -> PreTrainedModel:
    """The weights of a folder as ``auto_class``, e.g. ``AutoModelForCausalLM``, on the CPU.

    Args:
        auto_class: of transformers.
        source: a folder.
        config: what ``load_config`` found there.
        tell: hears how far it is.
        unread: beginnings of names of weights that nobody will read: they may be absent.
        options: for ``from_pretrained``.
    Raises:
        ModelError: the weights do not fit, or the model is of another kind.
    """
    folder = _folder_of(source)
    tell(f"loading the weights of {source.name}", 0.0)
    keep_quiet()
    try:
        model, told = auto_class.from_pretrained(
            folder,
            config=config,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=True,
            output_loading_info=True,
            **options,
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as exc:
        raise ModelError(f"{folder}: its weights cannot be loaded ({_first_line(exc)})") from exc
    loaded: PreTrainedModel = model
    _check_filled(loaded, told, folder, unread)
    tell(f"{source.name} is loaded", 1.0)
    return loaded


def _check_filled(
    model: PreTrainedModel, told: Mapping[str, Any], folder: Path, unread: tuple[str, ...]
) -> None:
    """Tell which weights the files did not have, and so are drawn at random.

    Raises:
        ModelError: they are most of the model.
    """
    mismatched = (
        entry if isinstance(entry, str) else entry[0] for entry in told.get("mismatched_keys") or ()
    )
    names = {*(told.get("missing_keys") or ()), *mismatched}
    absent = sorted(name for name in names if not name.startswith(unread))
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    share = sum(sizes.get(name, 0) for name in absent) / max(1, sum(sizes.values()))
    if share > _MOST_ABSENT:
        raise ModelError(
            f"{folder}: {share:.0%} of the model's weights are not in its files, so it would start from "
            "nothing; does config.json belong to these weights?"
        )
    if absent:
        shown = f"{', '.join(absent[:_SHOWN])}{' and more' if len(absent) > _SHOWN else ''}"
        log.warning(
            "%d weights are not in %s and begin at random (%.2g %% of the model): %s",
            len(absent), folder, 100.0 * share, shown,
        )  # fmt: skip


def _folder_of(source: ModelSource) -> Path:
    if source.folder is None:
        raise ModelError(f"model {source.name!r} has no files to load")
    return source.folder


def _first_line(exc: BaseException) -> str:
    return str(exc).strip().split("\n", 1)[0]


def _telling(name: str, tell: Tell) -> type[tqdm]:
    """A silent progress bar that tells how far the fetching is."""

    class Telling(tqdm):
        """One bar of the download: it counts, and shows nothing itself."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(  # type: ignore[no-untyped-call]
                *arguments, **{**options, "disable": True}
            )
            self._done, self._whole = 0.0, float(options.get("total") or 0)

        def update(self, n: float | None = 1) -> None:
            """Count, and tell."""
            self._done += n or 0
            tell(f"fetching {name}", min(1.0, self._done / self._whole) if self._whole else 0.0)

    return Telling
