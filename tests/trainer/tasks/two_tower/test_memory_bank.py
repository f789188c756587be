"""The memory bank: first in first out, no answer and no copy as a negative, and exact after a resume."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

from trainer.tasks.two_tower.features import Ints
from trainer.tasks.two_tower.memory_bank import BankNegatives, MemoryBank

CPU = torch.device("cpu")


def bank(capacity: int = 4) -> MemoryBank:
    return MemoryBank(capacity, num_documents=100, device=CPU)


def some(*numbers: int) -> Ints:
    return np.array(numbers, dtype=np.int64)


def vectors_of(documents: Ints, *, time: float = 0.0) -> torch.Tensor:
    """A vector that tells which document it is, and when it was read."""
    return torch.stack([torch.tensor([float(number), time]) for number in documents.tolist()])


def push(kept: MemoryBank, *documents: int, time: float = 0.0) -> None:
    kept.push(some(*documents), vectors_of(some(*documents), time=time))


def open_documents(kept: MemoryBank, candidates: Ints, golds: Ints) -> list[tuple[float, float]]:
    """Which vectors are negatives of one query, as (document, time)."""
    found = kept.negatives(candidates, [golds])
    assert isinstance(found, BankNegatives)
    is_open = ~found.closed_BK[0]
    assert found.num_open_B.tolist() == [int(is_open.sum())]
    return [(one[0], one[1]) for one in found.vectors_KD[is_open].tolist()]


def test_it_is_empty_at_first_and_the_oldest_leave_first() -> None:
    kept = bank()
    assert kept.negatives(some(1), [some(1)]) is None
    push(kept, 1, 2, 3)
    push(kept, 4, 5, time=1.0)
    assert sorted(open_documents(kept, some(9), some(9))) == [(2, 0), (3, 0), (4, 1), (5, 1)]
    assert len(kept) == 4


def test_a_document_counts_once_with_its_newest_vector() -> None:
    kept = bank()
    push(kept, 1, 2)
    push(kept, 1, 1, time=1.0)
    assert sorted(open_documents(kept, some(9), some(9))) == [(1, 1), (2, 0)]
    push(kept, 7, 8, 9, time=2.0)  # of those that count, 2 was the oldest
    assert sorted(open_documents(kept, some(50), some(50))) == [(1, 1), (7, 2), (8, 2), (9, 2)]


def test_the_pairs_own_document_every_other_answer_and_the_batch_are_no_negatives() -> None:
    kept = bank(10)
    push(kept, 1, 2, 3, 4, 5)
    found = kept.negatives(some(1, 6), [some(1, 2, 80), some(6)])
    assert found is not None
    assert found.closed_BK.tolist() == [
        [True, True, False, False, False],  # 1 is in the batch, 2 answers the query too
        [True, False, False, False, False],
    ]
    assert found.num_open_B.tolist() == [3, 4]


def test_more_than_it_holds_leaves_the_last_ones() -> None:
    kept = bank(2)
    push(kept, 1, 2, 3, 4, 5)
    assert sorted(open_documents(kept, some(9), some(9))) == [(4, 0), (5, 0)]


def test_nothing_is_passed_back_through_it() -> None:
    kept = bank()
    weight = torch.ones(1, requires_grad=True)
    kept.push(some(1), F.normalize(vectors_of(some(1)) * weight, dim=-1))
    found = kept.negatives(some(9), [some(9)])
    assert found is not None
    assert not found.vectors_KD.requires_grad


def test_a_restored_bank_is_the_same_place_by_place() -> None:
    generator = np.random.default_rng(0)
    for num_pushes in (0, 1, 3, 20):
        kept, restored = bank(7), bank(7)
        for time in range(num_pushes):
            push(kept, *generator.integers(0, 20, size=3).tolist(), time=float(time))
        restored.load_state_dict(kept.state_dict())
        for time in range(30, 34):
            documents = generator.integers(0, 20, size=3)
            one, two = (each.negatives(documents, [some(int(documents[0]))]) for each in (kept, restored))
            assert (one is None) == (two is None)
            if one is not None and two is not None:
                assert torch.equal(one.vectors_KD, two.vectors_KD)
                assert torch.equal(one.closed_BK, two.closed_BK)
            push(kept, *documents.tolist(), time=float(time))
            push(restored, *documents.tolist(), time=float(time))


def test_a_bank_of_another_size_takes_the_newest() -> None:
    kept = bank(4)
    push(kept, 1, 2, 3)
    push(kept, 4, 5)  # 1 has left, 5 lies in its place
    smaller, larger = bank(2), bank(6)
    smaller.load_state_dict(kept.state_dict())
    larger.load_state_dict(kept.state_dict())
    assert sorted(open_documents(smaller, some(9), some(9))) == [(4, 0), (5, 0)]
    assert sorted(open_documents(larger, some(9), some(9))) == [(2, 0), (3, 0), (4, 0), (5, 0)]
    push(larger, 6, 7, 8)
    assert len(larger) == 6
    assert (2, 0) not in open_documents(larger, some(9), some(9))
