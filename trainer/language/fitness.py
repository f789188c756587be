"""Whether a model's folder fits what a run asks of it, told from its small files before anything is loaded.

Loads no training library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.language.sources import ModelError, layer_widths, read_config, read_tokenizer

# Models whose every token sees the whole text: as language models they would only copy what they see.
SEEING_ALL: Final = frozenset(
    {
        *("albert", "bert", "big_bird", "camembert", "convbert", "deberta", "deberta-v2", "distilbert"),
        *("electra", "ernie", "eurobert", "flaubert", "funnel", "ibert", "layoutlm", "longformer", "luke"),
        *("megatron-bert", "mobilebert", "modernbert", "mpnet", "nystromformer", "rembert", "roberta"),
        *("roberta-prelayernorm", "roformer", "squeezebert", "xlm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
    }
)
ENCODER_DECODERS: Final = frozenset(
    {"bart", "blenderbot", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5", "umt5"}
)
# Their first token stands at the place after that of the padding token, so the places before it are lost.
_COUNTED_FROM_PADDING: Final = frozenset(
    {
        *("camembert", "data2vec-text", "ibert", "lilt", "longformer", "luke", "markuplm", "mpnet"),
        *("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
    }
)
# Of models that learn a vector per place: what transformers takes where a configuration does not say.
TAKEN_PLACES: Final = {
    **dict.fromkeys(("albert", "bert", "camembert", "convbert", "deberta", "deberta-v2", "distilbert"), 512),
    **dict.fromkeys(("electra", "ernie", "layoutlm", "mobilebert", "mpnet", "rembert", "roberta"), 512),
    **dict.fromkeys(("squeezebert", "xlm-roberta", "openai-gpt"), 512),
    **dict.fromkeys(("biogpt", "gpt2", "gpt_bigcode"), 1_024),
    **dict.fromkeys(("gpt_neo", "opt"), 2_048),
}
_SHOWN: Final = 12


@dataclass(frozen=True)
class Misfit:
    """What is wrong in words, what helps, and whether the run cannot work at all."""

    found: str
    remedy: str
    is_fatal: bool = True


def places(config: Mapping[str, Any]) -> int | None:
    """How many tokens a model reads at most; None where neither its configuration nor its kind says."""
    number = config.get("max_position_embeddings") or config.get("n_positions")
    if number is None:
        number = TAKEN_PLACES.get(str(config.get("model_type")))
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
        return None
    if config.get("model_type") in _COUNTED_FROM_PADDING:
        return number - int(config.get("pad_token_id") or 0) - 1
    return number


def is_encoder_decoder(config: Mapping[str, Any]) -> bool:
    """Whether a model reads with one half and writes with the other."""
    return bool(config.get("is_encoder_decoder")) or config.get("model_type") in ENCODER_DECODERS


def misfits(folder: Path, params: Mapping[str, Any], *, writes: bool) -> list[Misfit]:
    """What does not fit, the worst first.

    Args:
        folder: of a model whose files are whole.
        params: ``max_length`` of the run, and ``lora_rank`` and ``lora_targets`` where its recipe has them.
        writes: whether the model is to write text, token after token.

    Raises:
        ModelError: a file cannot be read, or its tokenizer is none.
    """
    config = read_config(folder)
    read_tokenizer(folder)
    found = [*_wrong_kind(config, writes=writes), *_too_long(config, params["max_length"])]
    if params.get("lora_rank"):
        found += _lora(folder, params["lora_targets"], params["lora_rank"])
    return found


def _wrong_kind(config: Mapping[str, Any], *, writes: bool) -> list[Misfit]:
    kind = str(config.get("model_type"))
    if not writes or (kind in SEEING_ALL and config.get("is_decoder") is True):
        return []
    if kind in SEEING_ALL:
        return [
            Misfit(
                f"It is a {kind} model, whose tokens see the whole text: it would copy what it sees, and "
                "learn nothing",
                "Choose a model that writes, such as a Llama, Qwen or GPT-2; this one can tell texts apart: "
                "text_classification.",
            )
        ]
    if is_encoder_decoder(config):
        found = f"It is a {kind} model, which has an encoder beside its decoder"
        return [Misfit(found, "Choose one that is a decoder only.")]
    return []


def check_length(config: Mapping[str, Any], max_length: int) -> None:
    """Refuse more tokens than a model of this configuration can read.

    Raises:
        ModelError: tells how many it can.
    """
    for misfit in _too_long(config, max_length):
        raise ModelError(f"{misfit.found}; {misfit.remedy[0].lower()}{misfit.remedy[1:].rstrip('.')}")


def _too_long(config: Mapping[str, Any], max_length: int) -> list[Misfit]:
    most = places(config)
    if most is None or max_length <= most:
        return []
    found = f"max_length is {max_length:,} and the model reads at most {most:,} tokens"
    return [Misfit(found, f"Lower max_length to {most}.")]


def _lora(folder: Path, targets: str, rank: int) -> list[Misfit]:
    widths = layer_widths(folder)
    wanted = [name.strip() for name in targets.split(",") if name.strip()]
    chosen: Sequence[str] = list(widths)
    if wanted and wanted != ["all-linear"]:
        chosen = [layer for layer in widths if _is_one_of(layer, wanted)]
    if not chosen:
        names = sorted({layer.rpartition(".")[2] for layer in widths})
        shown = f"{', '.join(names[:_SHOWN])}{' and more' if len(names) > _SHOWN else ''}"
        return [Misfit(f"lora_targets {targets!r} names no layer of the model", f"Its layers are {shown}.")]
    narrow = min((widths[layer] for layer in chosen), default=rank)
    if rank <= narrow:
        return []
    found = (
        f"lora_rank is {rank} and the narrowest layer is {narrow} wide: the added matrices hold more than it"
    )
    return [Misfit(found, f"Set lora_rank to {max(1, narrow // 4)} or less.", is_fatal=False)]


def _is_one_of(layer: str, wanted: Sequence[str]) -> bool:
    return any(layer == name or layer.endswith(f".{name}") for name in wanted)
