"""A tokenizer and a small model made on the spot, from nothing but texts and a few numbers.

The tokenizer is byte-level BPE: every text can be written with it, and the
same texts give the same tokenizer.  Of very many texts it reads a sample.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, PreTrainedTokenizerFast, RobertaConfig

from trainer.datasets.records import Tell
from trainer.language.sources import ModelError
from trainer.protocol.files import write_atomic

Kind = Literal["decoder", "encoder"]
FORMAT: Final = 1
MIN_VOCABULARY: Final = 300  # 256 bytes, the special tokens, and some words
_PAD, _END = "<|pad|>", "<|end|>"
_START_TEXT, _PADDING, _END_TEXT, _UNKNOWN, _MASK = "<s>", "<pad>", "</s>", "<unk>", "<mask>"
_SPECIAL: Final[dict[str, list[str]]] = {
    "decoder": [_PAD, _END],
    "encoder": [_START_TEXT, _PADDING, _END_TEXT, _UNKNOWN, _MASK],
}
LEARNED_FROM: Final = 20_000_000  # characters; a million take about a quarter of a CPU second
_TELL_EVERY: Final = 2000
_KEPT_FILES: Final = 20


@dataclass(frozen=True)
class Sizes:
    """How large a model from scratch is: ``max_length`` is in tokens, ``width`` that of the layers."""

    num_layers: int
    width: int
    num_heads: int
    max_length: int


def scratch_tokenizer(
    texts: Sequence[str], *, kind: Kind, vocab_size: int, folder: Path, tell: Tell
) -> PreTrainedTokenizerFast:
    """A tokenizer learned from ``texts``, or the one kept in ``folder`` for the same texts and numbers.

    Raises:
        ModelError: ``vocab_size`` leaves no room for words, or there are no texts.
    """
    if vocab_size < MIN_VOCABULARY:
        raise ModelError(f"vocab_size must be at least {MIN_VOCABULARY}, got {vocab_size}")
    if not any(texts):
        raise ModelError("there is no text to learn a tokenizer from")
    path = folder / f"{_key(texts, kind, vocab_size)}.json"
    backend = _kept(path)
    if backend is None:
        backend = _learned(sample(texts), kind=kind, vocab_size=vocab_size, tell=tell)
        _keep(path, backend)
    return _wrapped(backend, kind)


def sample(texts: Sequence[str], *, max_characters: int = LEARNED_FROM) -> Sequence[str]:
    """Texts from all over ``texts``, about ``max_characters`` of them; the same for the same texts."""
    total = sum(map(len, texts))
    if total <= max_characters:
        return texts
    share = -(-total // max_characters)
    taken = texts[::share]
    longest = max(1, max_characters // len(taken))
    few_long_ones = sum(map(len, taken)) > 2 * max_characters
    return [text[:longest] for text in taken] if few_long_ones else taken


def decoder_config(sizes: Sizes, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    """A small Llama: rotary positions, tied embeddings.

    Raises:
        ModelError: the width cannot be divided among the heads.
    """
    _check_heads(sizes, even=True)
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=sizes.width,
        intermediate_size=_rounded(sizes.width * 8 / 3),
        num_hidden_layers=sizes.num_layers,
        num_attention_heads=sizes.num_heads,
        num_key_value_heads=sizes.num_heads,
        max_position_embeddings=sizes.max_length,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def encoder_config(sizes: Sizes, tokenizer: PreTrainedTokenizerFast, *, num_labels: int) -> RobertaConfig:
    """A small RoBERTa for ``num_labels`` classes.

    Raises:
        ModelError: the width cannot be divided among the heads.
    """
    _check_heads(sizes, even=False)
    padding = _SPECIAL["encoder"].index(_PADDING)  # special tokens have the first numbers, in this order
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=sizes.width,
        intermediate_size=4 * sizes.width,
        num_hidden_layers=sizes.num_layers,
        num_attention_heads=sizes.num_heads,
        max_position_embeddings=sizes.max_length + padding + 1,  # positions are counted from padding + 1
        type_vocab_size=1,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=padding,
    )
    config.num_labels = num_labels
    return config


def _check_heads(sizes: Sizes, *, even: bool) -> None:
    if sizes.width % sizes.num_heads:
        raise ModelError(f"hidden_dim {sizes.width} cannot be divided among num_heads {sizes.num_heads}")
    if even and (sizes.width // sizes.num_heads) % 2:
        raise ModelError(
            f"hidden_dim / num_heads is {sizes.width // sizes.num_heads}; "
            "rotary positions need an even number"
        )


def _rounded(width: float) -> int:
    """Up to a multiple of 32, which matrix kernels like."""
    return -(-int(width) // 32) * 32


def _learned(texts: Sequence[str], *, kind: Kind, vocab_size: int, tell: Tell) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=_SPECIAL[kind],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_told(texts, tell), trainer, length=len(texts))
    tell(f"a tokenizer of {tokenizer.get_vocab_size():,} tokens is learned", 1.0)
    if kind == "encoder":
        start, end = tokenizer.token_to_id(_START_TEXT), tokenizer.token_to_id(_END_TEXT)
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{_START_TEXT} $A {_END_TEXT}",
            pair=f"{_START_TEXT} $A {_END_TEXT} {_END_TEXT} $B {_END_TEXT}",
            special_tokens=[(_START_TEXT, start), (_END_TEXT, end)],
        )
    return tokenizer


def _told(texts: Sequence[str], tell: Tell) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number % _TELL_EVERY == 0:
            tell("learning a tokenizer", 0.5 * number / len(texts))
        yield text
    tell("learning a tokenizer: choosing its words", 0.5)


def _wrapped(backend: Tokenizer, kind: Kind) -> PreTrainedTokenizerFast:
    roles = {"eos_token": _END, "pad_token": _PAD}
    if kind == "encoder":
        roles = {
            "bos_token": _START_TEXT,
            "eos_token": _END_TEXT,
            "cls_token": _START_TEXT,
            "sep_token": _END_TEXT,
            "pad_token": _PADDING,
            "unk_token": _UNKNOWN,
            "mask_token": _MASK,
        }
    tokenizer_class: Any = PreTrainedTokenizerFast  # its constructor has no types
    wrapped: PreTrainedTokenizerFast = tokenizer_class(tokenizer_object=backend, **roles)
    return wrapped


def _key(texts: Sequence[str], kind: Kind, vocab_size: int) -> str:
    digest = hashlib.sha256(json.dumps([FORMAT, kind, vocab_size, len(texts)]).encode())
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()[:32]


def _kept(path: Path) -> Tokenizer | None:
    """The tokenizer kept in ``path``, or None when there is none or it is damaged."""
    try:
        kept = json.loads(path.read_bytes())
        content = kept["tokenizer"]
        if hashlib.sha256(content.encode()).hexdigest() != kept["sha256"]:
            return None
        return Tokenizer.from_str(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _keep(path: Path, backend: Tokenizer) -> None:
    """Keep it; without room for it the run goes on, and learns it again next time."""
    content = backend.to_str()
    kept = {"sha256": hashlib.sha256(content.encode()).hexdigest(), "tokenizer": content}
    try:
        write_atomic(path, json.dumps(kept).encode())
        for old in sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)[:-_KEPT_FILES]:
            old.unlink()
    except OSError:
        pass


def describe(sizes: Sizes) -> dict[str, int]:
    """The numbers a model from scratch was made of, for an export."""
    return asdict(sizes)
