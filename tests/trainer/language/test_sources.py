import json
from pathlib import Path

import pytest

from tests.trainer.language.folders import safetensors, whole_folder
from trainer.language.sources import ModelError, find_source, is_offline, num_weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return whole_folder(tmp_path / "models" / "small")


def test_a_whole_folder_is_found_by_its_path_and_by_its_name_below_a_root(folder: Path) -> None:
    found = find_source(str(folder))
    assert (found.kind, found.folder) == ("folder", folder)
    assert find_source("small", roots=[folder.parent]).content_hash == found.content_hash
    assert num_weights(folder) == 6


def test_other_weights_have_another_hash(folder: Path) -> None:
    before = find_source(str(folder)).content_hash
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    assert find_source(str(folder)).content_hash != before


def test_scratch_and_hub_ids_have_no_folder_yet() -> None:
    assert find_source("scratch").kind == "scratch"
    hub = find_source("organisation/model-1.5b")
    assert (hub.kind, hub.folder) == ("hub", None)


@pytest.mark.parametrize("name", ["", "a/b/c", "../up", "a b", "/no/such/folder", "https://x.y/z"])
def test_what_is_no_model_is_refused(name: str) -> None:
    with pytest.raises(ModelError):
        find_source(name)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("config.json", "holds no config.json"),
        ("tokenizer.json", "holds no tokenizer"),
        ("model.safetensors", "holds no model.safetensors"),
    ],
)
def test_a_folder_without_a_part_is_refused_and_the_remedy_named(
    folder: Path, missing: str, said: str
) -> None:
    (folder / missing).unlink()
    with pytest.raises(ModelError, match=said) as caught:
        find_source(str(folder))
    assert "save_pretrained" in str(caught.value)


def test_pickled_weights_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pytorch_model\.bin: pickled weights can run code"):
        find_source(str(folder))


@pytest.mark.parametrize(("cut", "said"), [(1, "is cut off: it has"), (40, "is cut off"), (95, "is no saf")])
def test_a_truncated_file_is_named(folder: Path, cut: int, said: str) -> None:
    safetensors(folder / "model.safetensors", cut=cut)
    with pytest.raises(ModelError, match=rf"model\.safetensors: {said}"):
        find_source(str(folder))


def test_a_missing_shard_and_one_outside_of_the_folder_are_named(folder: Path) -> None:
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "model-00001.safetensors"}}))
    with pytest.raises(ModelError, match=r"model-00001\.safetensors: is missing"):
        find_source(str(folder))
    index.write_text(json.dumps({"weight_map": {"w": "../x.safetensors"}}))
    with pytest.raises(ModelError, match="outside of the folder"):
        find_source(str(folder))


def test_a_model_that_needs_code_of_its_own_and_an_adapter_are_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"auto_map": {"AutoModel": "evil.Model"}}')
    with pytest.raises(ModelError, match="code of its own, which is never run"):
        find_source(str(folder))
    (folder / "config.json").rename(folder / "adapter_config.json")
    with pytest.raises(ModelError, match="LoRA adapter"):
        find_source(str(folder))


def test_the_users_wish_to_stay_offline_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert is_offline()
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert not is_offline()
