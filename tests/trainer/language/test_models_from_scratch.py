import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaForCausalLM, RobertaForSequenceClassification

from trainer.language.export import ABOUT, export_model
from trainer.language.loading import fetched, load_config, load_model, load_tokenizer
from trainer.language.scratch import Sizes, decoder_config, encoder_config, scratch_tokenizer
from trainer.language.sources import ModelError, ModelSource, find_source
from trainer.language.token_cache import cached_tokens, tokens_of

TEXTS = [f"def function_{number}(x): return the sum of {number} words" for number in range(200)]
SIZES = Sizes(num_layers=1, width=16, num_heads=2, max_length=32)


def silent(detail: str, fraction: float) -> None:
    """Nobody listens."""


def test_the_same_texts_give_the_same_tokenizer_and_it_is_kept(tmp_path: Path) -> None:
    def told(detail: str, fraction: float) -> None:
        heard.append(detail)

    heard: list[str] = []
    first = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path / "a", tell=told)
    again = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path / "b", tell=silent)
    assert first.backend_tokenizer.to_str() == again.backend_tokenizer.to_str()
    assert heard
    heard.clear()
    kept = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path / "a", tell=told)
    assert heard == []
    assert kept.backend_tokenizer.to_str() == first.backend_tokenizer.to_str()
    damaged = next((tmp_path / "a").iterdir())
    damaged.write_text(damaged.read_text()[:-9])
    scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path / "a", tell=told)
    assert heard


def test_every_text_survives_its_tokens(tmp_path: Path) -> None:
    tokenizer = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path, tell=silent)
    text = "Grüße, 世界 \U0001f600\tx"
    assert tokenizer.decode(tokens_of([text], tokenizer, tell=silent).ids(0).tolist()) == text


def test_marked_tokens_are_those_that_begin_inside_the_spans_and_the_cache_gives_them_back(
    tmp_path: Path,
) -> None:
    tokenizer = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path, tell=silent)
    texts, spans = ["return the sum", "", "the words"], [[(6, 14)], [], [(0, 3)]]
    rows = cached_tokens(texts, tokenizer, datasets_dir=tmp_path, tell=silent, spans=spans)
    assert tokenizer.decode(rows.ids(0)[rows.marked(0)].tolist()) == " the sum"
    assert len(rows.ids(1)) == 0
    assert tokenizer.decode(rows.ids(2)[rows.marked(2)].tolist()) == "the"

    def loud(detail: str, fraction: float) -> None:
        pytest.fail("tokenised again")

    kept = cached_tokens(texts, tokenizer, datasets_dir=tmp_path, tell=loud, spans=spans)
    assert kept.ids_flat.tolist() == rows.ids_flat.tolist()
    assert kept.marked_flat.tolist() == rows.marked_flat.tolist()
    file = next((tmp_path / "tokens").iterdir())
    file.write_bytes(file.read_bytes()[:-40])
    again = cached_tokens(texts, tokenizer, datasets_dir=tmp_path, tell=silent, spans=spans)
    assert again.starts.tolist() == rows.starts.tolist()


def test_a_decoder_is_exported_and_loaded_again_with_the_same_answers(tmp_path: Path) -> None:
    tokenizer = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path, tell=silent)
    torch.manual_seed(0)
    model = LlamaForCausalLM(decoder_config(SIZES, tokenizer)).train(mode=False)
    about: dict[str, Any] = {
        "run_id": "r1",
        "recipe": "causal_lm",
        "dataset": "d",
        "step": 7,
        "metrics": {"eval/loss": 1.5},
    }
    for _ in range(2):  # the second replaces the first
        folder = export_model(tmp_path / "export", model, tokenizer, **about)
    written = json.loads((folder / ABOUT).read_text())
    assert (written["run"], written["step"]) == ("r1", 7)
    assert sorted(path.name for path in tmp_path.iterdir() if "export" in path.name) == ["export"]
    source = find_source(str(folder))
    loaded = load_model(AutoModelForCausalLM, source, load_config(source), silent).train(mode=False)
    ids = torch.tensor([load_tokenizer(source).encode("the sum of words")])
    assert torch.equal(loaded(input_ids=ids).logits, model(input_ids=ids).logits)


def test_an_encoder_reads_texts_of_the_whole_length(tmp_path: Path) -> None:
    tokenizer = scratch_tokenizer(TEXTS, kind="encoder", vocab_size=320, folder=tmp_path, tell=silent)
    model = RobertaForSequenceClassification(encoder_config(SIZES, tokenizer, num_labels=3)).train(mode=False)
    rows = tokens_of(["the sum of " * 30], tokenizer, tell=silent)
    ids = torch.from_numpy(rows.ids(0)[: SIZES.max_length].astype("int64"))[None]
    assert int(ids[0, 0]) == tokenizer.bos_token_id
    assert model(input_ids=ids).logits.shape == (1, 3)


def test_sizes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    tokenizer = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path, tell=silent)
    with pytest.raises(ModelError, match="cannot be divided"):
        decoder_config(Sizes(1, 15, 2, 32), tokenizer)
    with pytest.raises(ModelError, match="vocab_size"):
        scratch_tokenizer(TEXTS, kind="decoder", vocab_size=10, folder=tmp_path, tell=silent)


def test_damaged_folders_are_named_when_they_are_loaded(tmp_path: Path) -> None:
    tokenizer = scratch_tokenizer(TEXTS, kind="decoder", vocab_size=320, folder=tmp_path, tell=silent)
    model = LlamaForCausalLM(decoder_config(SIZES, tokenizer))
    about: dict[str, Any] = {"run_id": "r", "recipe": "causal_lm", "dataset": "d", "step": 0, "metrics": {}}
    folder = export_model(tmp_path / "export", model, tokenizer, **about)
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(ModelError, match="its tokenizer cannot be loaded"):
        load_tokenizer(find_source(str(folder)))
    (folder / "config.json").write_text('{"model_type": "no-such-kind"}')
    with pytest.raises(ModelError, match=r"config\.json cannot be used"):
        load_config(find_source(str(folder)))


def test_a_hub_model_that_is_not_cached_is_refused_when_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="not in the local cache"):
        fetched(ModelSource("hub", "nobody/nothing-like-this"), silent)
