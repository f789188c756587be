from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, MambaConfig, MambaForCausalLM

from tests.trainer.tasks.causal_lm.small_corpus import (
    silent,
    small_params,
    write_completions,
    write_messages,
)
from trainer.datasets.records import DatasetError
from trainer.engine.gradients import backward
from trainer.language import precision
from trainer.language.completion import complete
from trainer.language.sources import ModelError
from trainer.tasks.causal_lm.asking import token_log_probabilities
from trainer.tasks.causal_lm.batches import Batches, collate
from trainer.tasks.causal_lm.material import Sequence
from trainer.tasks.causal_lm.model import LanguageModel, build_model
from trainer.tasks.causal_lm.packing_check import check_packing
from trainer.tasks.causal_lm.task import CausalLmTask
from trainer.tasks.causal_lm.train import Prepared, prepare

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("corpus")
    path = write_completions(folder / "c.jsonl")
    return prepare(str(path), small_params(), datasets_dir=folder, tell=silent)


def built(prepared: Prepared, **changes: Any) -> LanguageModel:
    torch.manual_seed(0)
    params = small_params(**changes)
    return build_model(prepared.source, prepared.tokenizer, params, device=CPU, precision="fp32", tell=silent)


def sequence(*ids: int, learned: int = 1) -> Sequence:
    return Sequence(np.array(ids, dtype=np.int64), np.arange(len(ids)) >= learned)


def test_packed_examples_get_the_very_logits_they_get_alone(prepared: Prepared) -> None:
    model = built(prepared)
    model.model.eval()
    examples = [prepared.material.sequences[number] for number in (0, 5, 11)]
    packed = model.logits(collate([examples], pad_id=0, is_packed=True, length=120))
    alone = torch.cat([model.logits(collate([[one]], pad_id=0, is_packed=False)) for one in examples])
    assert torch.allclose(packed, alone, atol=1e-5)
    padded = model.logits(collate([[one] for one in examples], pad_id=0, is_packed=False))
    assert torch.allclose(padded, alone, atol=1e-5)
    check_packing(model, prepared.material)


def test_a_model_with_learned_positions_packs_exactly_and_one_with_a_state_is_refused(
    prepared: Prepared,
) -> None:
    size, tokens = len(prepared.tokenizer), prepared.tokenizer
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=size, n_positions=64, n_embd=16, n_layer=1, n_head=2))
    check_packing(LanguageModel(gpt2, tokens, device=CPU, precision="fp32"), prepared.material)
    mamba = MambaForCausalLM(MambaConfig(vocab_size=size, hidden_size=16, num_hidden_layers=1, state_size=4))
    with pytest.raises(DatasetError, match="set packing to false"):
        check_packing(LanguageModel(mamba, tokens, device=CPU, precision="fp32"), prepared.material)


def test_only_what_answers_the_prompt_is_learned(prepared: Prepared) -> None:
    material, tokenizer = prepared.material, prepared.tokenizer
    row = int(material.row_of_S[0])
    one = material.sequences[0]
    asked, said = material.conversations.turns[row]
    assert tokenizer.decode(one.ids[~one.learned].tolist()) == asked.text
    assert tokenizer.decode(one.ids[one.learned].tolist()) == f"{said.text}{tokenizer.eos_token}"
    assert material.counts.masked_share == pytest.approx(
        1 - sum(each.num_learned for each in material.sequences) / material.counts.tokens
    )


def test_every_answer_of_a_conversation_is_learned_and_nothing_else(tmp_path: Path) -> None:
    path = write_messages(tmp_path / "m.jsonl")
    found = prepare(str(path), small_params(max_length=128), datasets_dir=tmp_path, tell=silent)
    one, end = found.material.sequences[0], found.tokenizer.eos_token
    said = found.material.conversations.turns[0]
    learned = found.tokenizer.decode(one.ids[one.learned].tolist())
    assert learned == f"{said[2].text}{end}{said[4].text}{end}"


def test_what_max_length_cuts_is_counted(tmp_path: Path) -> None:
    path = write_completions(tmp_path / "c.jsonl")
    found = prepare(str(path), small_params(max_length=12), datasets_dir=tmp_path, tell=silent).material
    assert found.counts.cut > 0
    assert found.counts.cut_examples > 0
    assert max(len(one.ids) for one in found.sequences) == 12


def test_a_long_text_goes_on_in_further_sequences_and_predicts_every_token_once(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "one two three four five six seven eight nine ten"}\n{"text": "eleven twelve"}')
    material = prepare(str(path), small_params(max_length=8), datasets_dir=tmp_path, tell=silent).material
    first = [material.sequences[number] for number in np.flatnonzero(material.row_of_S == 0)]
    assert len(first) == 2
    assert material.counts.cut == 0
    whole = [int(one.ids[0]) for one in first[:1]] + [int(token) for one in first for token in one.ids[1:]]
    assert all(len(one.ids) <= 8 for one in first)
    assert sum(one.num_learned for one in first) == len(whole) - 1


def test_every_sequence_comes_once_an_epoch_and_any_batch_can_be_reached(prepared: Prepared) -> None:
    material = prepared.material
    for pack_length in (0, 64):
        batches = Batches(
            material.sequences, material.train, batch_size=3, seed=1, pad_id=0, pack_length=pack_length
        )
        whole = list(batches.batches(2, start=0))
        assert len(whole) == batches.num_batches
        assert sum(batch.num_examples for batch in whole) == len(material.train)
        again = list(batches.batches(2, start=len(whole) - 2))
        assert torch.equal(again[0].ids_BT, whole[-2].ids_BT)
        other = next(batches.batches(3, start=0))
        assert other.ids_BT.shape != whole[0].ids_BT.shape or not torch.equal(other.ids_BT, whole[0].ids_BT)


def test_accumulated_batches_give_the_gradient_of_one_batch_of_all_tokens(prepared: Prepared) -> None:
    gradients = []
    for sizes in ([(0, 6)], [(0, 1), (1, 6)]):  # batches of unlike numbers of tokens
        model = built(prepared)
        task = CausalLmTask(prepared.material, model, small_params(), fingerprint="")
        examples = prepared.material.sequences[:6]
        cut = [
            collate([[one] for one in examples[low:high]], pad_id=0, is_packed=False) for low, high in sizes
        ]
        outcome = backward(task, cut)
        first = next(one.grad for one in model.model.parameters() if one.grad is not None)
        gradients.append(first * outcome.gradient_scale)
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def test_fp16_scales_the_way_back_and_not_the_gradients(prepared: Prepared) -> None:
    gradients = []
    for numbers in ("fp32", "fp16"):
        torch.manual_seed(0)
        params = small_params()
        model = build_model(
            prepared.source, prepared.tokenizer, params, device=CPU, precision=numbers, tell=silent
        )
        task = CausalLmTask(prepared.material, model, params, fingerprint="")
        backward(task, [collate([[prepared.material.sequences[0]]], pad_id=0, is_packed=False)])
        gradients.append(next(one.grad for one in model.model.parameters() if one.grad is not None))
    assert torch.allclose(gradients[0], gradients[1], rtol=0.05, atol=1e-3)


def test_no_device_trains_with_numbers_it_is_bad_at() -> None:
    assert precision.choose("auto", CPU) == "fp32"
    assert precision.choose("bf16", CPU) == "bf16"
    for device in ("cpu", "mps"):
        with pytest.raises(ModelError, match="overflow to NaN"):
            precision.choose("fp16", torch.device(device))


def test_completions_are_the_same_alone_and_beside_others_and_end_where_the_model_ends(
    prepared: Prepared,
) -> None:
    model = built(prepared)
    model.model.eval()
    prompts = [[5, 6, 7], [9] * 11, [20]]
    options: dict[str, Any] = {
        "max_new_tokens": 6, "max_length": model.max_length, "end_ids": model.end_ids, "pad_id": 0,
        "device": CPU,
    }  # fmt: skip
    together = complete(model.step, prompts, **options)
    assert together == [complete(model.step, [prompt], **options)[0] for prompt in prompts]
    stops = {**options, "end_ids": [together[0].ids[2]]}
    ended = complete(model.step, prompts[:1], **stops)[0]
    assert ended.has_ended
    assert ended.ids == together[0].ids[: together[0].ids.index(together[0].ids[2])]
    ids = torch.tensor([prompts[1]])
    reference = AutoModelForCausalLM.from_config(model.config)  # type: ignore[no-untyped-call]
    reference.load_state_dict(model.model.state_dict())
    generated = reference.eval().generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False, eos_token_id=None
    )
    assert generated[0, 11:].tolist() == together[1].ids


@pytest.mark.parametrize("how", [{}, {"lora_rank": 2}])
def test_the_vector_of_an_example_is_the_mean_state_over_its_prompt_alone(
    prepared: Prepared, how: dict[str, Any]
) -> None:
    model = built(prepared, **how)
    model.model.eval()
    examples = [prepared.material.sequences[number] for number in (0, 5, 11)]
    scores = token_log_probabilities(model, examples, at_once=2, with_vectors=True)
    plain = token_log_probabilities(model, examples, at_once=2)
    assert [one.vector_D for one in plain] == [None] * 3
    for example, found, without in zip(examples, scores, plain, strict=True):
        assert (found.log_probabilities == without.log_probabilities).all()
        assert found.vector_D is not None
        prompt = torch.from_numpy(example.ids[~example.learned])[None]
        with torch.no_grad(), model.watching_states() as states:
            model.model(input_ids=prompt)
        assert torch.allclose(torch.from_numpy(found.vector_D), states[0][0].mean(dim=0), atol=1e-4)
