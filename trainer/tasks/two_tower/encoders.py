"""Hugging Face encoders as towers: loaded or made from scratch, trained or read once.

Importing this module takes seconds; only a run that asks for an encoder does.
"""

from __future__ import annotations

import copy
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModel, PreTrainedTokenizerFast

from trainer.datasets.records import Tell, TextPairs
from trainer.language.fitness import check_length, is_encoder_decoder
from trainer.language.loading import fetched, load_config, load_model, load_tokenizer
from trainer.language.scratch import Sizes, encoder_config, scratch_tokenizer
from trainer.language.sources import ModelError, ModelSource, find_source, folder_source, model_roots
from trainer.language.token_cache import cached_tokens
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.encoder_tower import EncoderTower, TokenInputs
from trainer.tasks.two_tower.inputs import Inputs, VectorInputs
from trainer.tasks.two_tower.material import Material, material_of_texts
from trainer.tasks.two_tower.model import TwoTowers
from trainer.tasks.two_tower.token_reader import TokenReader, read_all
from trainer.tasks.two_tower.towers import LinearTower

log = logging.getLogger(__name__)
_TOKENIZERS: Final = "tokenizers"


@dataclass(frozen=True)
class LoadedEncoder:
    """An encoder with its tokenizer, and the hash of what it was loaded from."""

    model: Any
    tokenizer: PreTrainedTokenizerFast
    content_hash: str
    is_pretrained: bool


def encoder_material(
    pairs: TextPairs, params: TwoTowerParams, *, datasets_dir: Path, device: torch.device, tell: Tell
) -> tuple[Material, TwoTowers]:
    """Texts as an encoder reads them, and the towers that read them.

    Raises:
        ModelError: the encoder cannot be used; names file and remedy.
        DatasetError: there are too few groups to split.
    """
    loaded = load_encoder(params, [*pairs.queries, *pairs.documents], datasets_dir=datasets_dir, tell=tell)
    padding = int(loaded.tokenizer.pad_token_id)

    def tokens_of(texts: Sequence[str]) -> TokenInputs:
        rows = cached_tokens(texts, loaded.tokenizer, datasets_dir=datasets_dir, tell=tell)
        inputs = TokenInputs(rows, max_length=params.max_length, padding=padding)
        if inputs.num_cut:
            log.info("%d of %d texts are cut to %d tokens", inputs.num_cut, len(inputs), params.max_length)
        return inputs

    def inputs_of(queries: Sequence[str], documents: Sequence[str]) -> tuple[Inputs, Inputs]:
        sides = tokens_of(queries), tokens_of(documents)
        if params.encoder == "trained":
            return sides
        encoder = loaded.model.to(device).eval()
        read = [
            VectorInputs(read_all(encoder, side, name, tell))
            for side, name in zip(sides, ("queries", "documents"), strict=True)
        ]
        return read[0], read[1]

    material = material_of_texts(pairs, params, inputs_of, reader=_reader(loaded, params))
    named = f"{material.content_hash}:{loaded.content_hash}"
    material = replace(material, content_hash=hashlib.sha256(named.encode()).hexdigest())
    return material, _towers(loaded, params, device)


def load_encoder(
    params: TwoTowerParams, texts: Sequence[str], *, datasets_dir: Path, tell: Tell
) -> LoadedEncoder:
    """The encoder that ``params.model`` names, on the CPU.

    Raises:
        ModelError: it cannot be found, loaded or used; names file and remedy.
    """
    source = fetched(find_source(params.model, roots=model_roots(datasets_dir)), tell)
    if source.kind == "scratch":
        tokenizer = scratch_tokenizer(
            texts, kind="encoder", vocab_size=params.vocab_size, folder=datasets_dir / _TOKENIZERS, tell=tell
        )
        sizes = Sizes(params.num_layers, params.hidden_dim, params.num_heads, params.max_length)
        auto: Any = AutoModel
        model = auto.from_config(encoder_config(sizes, tokenizer, num_labels=1))
        return LoadedEncoder(_without_pooler(model), tokenizer, str(sizes), is_pretrained=False)
    tokenizer, config = load_tokenizer(source), load_config(source)
    _check_config(source.name, config, params.max_length)
    return LoadedEncoder(_loaded(source, config, tell), tokenizer, source.content_hash, is_pretrained=True)


def _check_config(name: str, config: Any, max_length: int) -> None:
    told = config.to_dict()
    if is_encoder_decoder(told):
        raise ModelError(
            f"model {name!r} has an encoder and a decoder; name a model that is an encoder alone"
        )
    check_length(told, max_length)


def _loaded(source: ModelSource, config: Any, tell: Tell) -> Any:
    return _without_pooler(load_model(AutoModel, source, config, tell, unread=("pooler.",)))


def _without_pooler(model: Any) -> Any:
    """Some encoders carry a layer for a single token, which nothing here reads and nothing would train."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def exported_towers(folders: Sequence[Path], params: TwoTowerParams) -> tuple[TwoTowers, TokenReader]:
    """Towers, and the reader of their texts, with the encoders of an export; on the CPU.

    Args:
        folders: of the query's encoder and the document's, or of the one that both have.
        params: of the run that left the export.

    Raises:
        ModelError: a folder cannot be used; names the file.
    """
    sources = [folder_source(folder) for folder in folders]
    tokenizer = load_tokenizer(sources[0])
    models = [_loaded(source, load_config(source), _nobody).eval() for source in sources]
    loaded = LoadedEncoder(models[0], tokenizer, sources[0].content_hash, is_pretrained=True)
    return _towers(loaded, params, torch.device("cpu"), document=models[-1]), _reader(loaded, params)


def _reader(loaded: LoadedEncoder, params: TwoTowerParams) -> TokenReader:
    frozen = loaded.model if params.encoder == "frozen" else None
    return TokenReader(loaded.tokenizer, max_length=params.max_length, frozen=frozen)


def _towers(
    loaded: LoadedEncoder, params: TwoTowerParams, device: torch.device, document: Any = None
) -> TwoTowers:
    """Towers around the encoder; ``document`` is the document tower's own, None for a copy of it."""
    if params.encoder == "frozen":
        width = int(loaded.model.config.hidden_size)
        query = LinearTower(width, dim=params.dim)
        return TwoTowers(
            query, query if params.share_towers else LinearTower(width, dim=params.dim), device=device
        )
    first = EncoderTower(loaded.model, dim=params.dim, is_pretrained=loaded.is_pretrained)
    second = first if params.share_towers else copy.deepcopy(first)
    if document is not None and not params.share_towers:
        second.encoder = document
    return TwoTowers(first, second, device=device)


def _nobody(detail: str, fraction: float) -> None:
    """Weights on disk are loaded at once."""
