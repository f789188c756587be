import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trainer.tasks.two_tower.features import FeatureSettings, bags_of, cached_bags

SETTINGS = FeatureSettings(num_buckets=1 << 20, ngram=4, max_features=64)


def features(text: str, settings: FeatureSettings = SETTINGS) -> list[int]:
    bags = bags_of(["something else", text], settings, lambda detail, fraction: None)
    found: list[int] = bags.take(np.array([1]))[0].tolist()
    return found


def test_a_text_has_its_words_and_their_ngrams_once_each() -> None:
    # <read> has the word and the n-grams <rea read ead>, <it> the word and the n-gram <it>
    assert len(features("read it")) == 1 + 3 + 1 + 1
    assert features("read it, read IT!") == features("read it")
    assert set(features("read")) < set(features("it read"))


def test_names_are_read_as_their_words() -> None:
    assert features("readTextFile") == features("read_text_file") == features("Read text-file")


def test_words_with_common_parts_share_features() -> None:
    assert set(features("tokenize")) & set(features("tokenizer"))
    assert not set(features("tokenize", FeatureSettings(1 << 20, 0, 64))) & set(
        features("tokenizer", FeatureSettings(1 << 20, 0, 64))
    )


def test_a_text_has_the_same_words_whether_it_is_read_alone_or_with_others_in_ascii() -> None:
    chance = random.Random(4)
    texts = [
        "".join(chance.choices("abzAZ019 _-.\t\x1f\x7f{" + "\x00é" * (number % 2), k=40))
        for number in range(500)
    ] + [
        "",
        "aB1c",
        "XMLFile2Read",
    ]
    together = bags_of(texts, SETTINGS, lambda detail, fraction: None)
    for row, text in enumerate(texts):
        # the last character is no part of a word; being none of ASCII, it sends the text the other way
        expected = bags_of([text + "\u2003"], SETTINGS, lambda detail, fraction: None).ids.tolist()
        assert together.take(np.array([row]))[0].tolist() == expected


def test_an_empty_text_has_one_feature_and_a_long_one_is_cut() -> None:
    assert len(features("")) == 1
    assert features("!?") == features("")
    assert len(features(" ".join(f"word{number}" for number in range(1000)))) == 64
    assert len(features("straße 日本語")) > 2


def test_rows_are_taken_in_the_order_asked_for() -> None:
    bags = bags_of(["one", "two words", "three"], SETTINGS, lambda detail, fraction: None)
    ids, starts = bags.take(np.array([2, 0, 2]))
    ends = [*starts.tolist()[1:], len(ids)]
    parts = [ids[start:end].tolist() for start, end in zip(starts.tolist(), ends, strict=True)]
    assert parts == [bags.take(np.array([row]))[0].tolist() for row in (2, 0, 2)]


@pytest.mark.process
def test_another_process_hashes_the_same() -> None:
    code = (
        "from trainer.tasks.two_tower.features import *\n"
        "b = bags_of(['find the function'], FeatureSettings(1 << 20, 4, 64), lambda d, f: None)\n"
        "print(b.ids.tolist())"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == str(features("find the function"))


def test_the_cache_is_used_only_for_the_same_texts_and_settings(tmp_path: Path) -> None:
    def hashed(content_hash: str, settings: FeatureSettings) -> tuple[list[str], list[int]]:
        told: list[str] = []
        bags = cached_bags(
            ["find me"], settings, lambda d, f: told.append(d), content_hash=content_hash, folder=tmp_path
        )
        return told, bags.ids.tolist()

    first, ids = hashed("a", SETTINGS)
    again, same_ids = hashed("a", SETTINGS)
    assert (bool(first), bool(again)) == (True, False)
    assert ids == same_ids
    assert hashed("b", SETTINGS)[0]
    assert hashed("a", FeatureSettings(1 << 10, 4, 64))[0]
    for file in tmp_path.glob("*.npz"):
        file.write_bytes(b"damaged")
    told, ids_after = hashed("a", SETTINGS)
    assert told
    assert ids_after == ids
