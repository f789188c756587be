import itertools
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from trainer.tasks.two_tower.losses import chance_loss, info_nce, mean_negatives
from trainer.tasks.two_tower.memory_bank import BankNegatives


def test_orthogonal_pairs_have_the_loss_of_their_softmax() -> None:
    eye = torch.eye(4)
    expected = math.log(math.exp(1 / 0.5) + 3) - 1 / 0.5
    assert info_nce(eye, eye, temperature=0.5).item() == pytest.approx(expected)
    assert info_nce(eye, eye, temperature=0.5, symmetric=True).item() == pytest.approx(expected)


def test_vectors_that_are_all_alike_have_the_chance_loss() -> None:
    same = F.normalize(torch.ones(6, 3), dim=-1)
    masked = torch.zeros(6, 8, dtype=torch.bool)
    masked[0, 1] = masked[2, 7] = True
    for extra, mask, symmetric in ((None, None, False), (None, None, True), (same[:2], masked, True)):
        loss = info_nce(same, same, extra_MD=extra, masked_BN=mask, symmetric=symmetric)
        num_extra = 0 if extra is None else len(extra)
        assert chance_loss(6, num_extra, masked_BN=mask, symmetric=symmetric) == pytest.approx(loss.item())
    assert chance_loss(6, 2) == pytest.approx(math.log(1 + 7))


def kept(vectors: torch.Tensor, closed: torch.Tensor) -> BankNegatives:
    return BankNegatives(vectors, closed, (~closed).sum(dim=1).numpy())


MIXES = list(itertools.product([False, True], repeat=5))


@pytest.mark.parametrize(("further", "masks", "bank", "symmetric", "margin"), MIXES)
def test_the_chance_level_is_that_of_vectors_all_alike_for_every_mix_of_negatives(
    further: bool, masks: bool, bank: bool, symmetric: bool, margin: bool
) -> None:
    same = F.normalize(torch.ones(9, 3), dim=-1)
    masked = torch.zeros(6, 8 if further else 6, dtype=torch.bool)
    masked[0, 1] = masked[2, 5] = masked[3, -1] = True
    masked[5, :5] = True
    closed = torch.zeros(6, 9, dtype=torch.bool)
    closed[0, :3] = closed[4, :] = True
    settings: dict[str, Any] = {
        "masked_BN": masked if masks else None,
        "bank": kept(same, closed) if bank else None,
        "symmetric": symmetric,
        "margin": 0.3 if margin else 0.0,
    }
    loss = info_nce(same[:6], same[:6], extra_MD=same[:2] if further else None, **settings)
    assert chance_loss(6, 2 if further else 0, **settings) == pytest.approx(loss.item(), rel=1e-5)


def test_the_chance_level_of_a_full_bank_is_the_logarithm_of_all_candidates() -> None:
    closed = torch.zeros(1, 50_000, dtype=torch.bool)
    bank = kept(torch.zeros(50_000, 1), closed)
    assert chance_loss(32, 0, bank=bank) == pytest.approx(math.log(50_032))
    assert mean_negatives(32, 4, masked_BN=None, bank=bank) == 32 + 4 - 1 + 50_000


def test_a_bank_is_as_good_as_further_documents_but_for_the_gradient() -> None:
    generator = torch.Generator().manual_seed(0)
    query, document, extra = (F.normalize(torch.randn(5, 8, generator=generator), dim=-1) for _ in range(3))
    bank = kept(extra, torch.zeros(1, 5, dtype=torch.bool))
    assert info_nce(query, document, bank=bank).item() == pytest.approx(
        info_nce(query, document, extra_MD=extra).item()
    )


def test_the_hinge_is_what_lacks_to_the_margin_worked_by_hand() -> None:
    query = torch.eye(2)
    document = torch.tensor([[1.0, 0.0], [0.6, 0.8]])  # cosines: 1 and 0.6 | 0 and 0.8
    plain = info_nce(query, document, temperature=0.5)
    with_margin = info_nce(query, document, temperature=0.5, margin=2.0)
    lacking = (2.0 - (1.0 - 0.6) / 0.5, 2.0 - (0.8 - 0.0) / 0.5)
    assert (with_margin - plain).item() == pytest.approx(sum(lacking) / 2)
    assert info_nce(query, document, temperature=0.5, margin=0.1).item() == pytest.approx(plain.item())


def test_the_hinge_looks_at_the_bank_and_not_at_what_is_masked() -> None:
    query = document = torch.eye(2)
    masked = ~torch.eye(2, dtype=torch.bool)
    query.requires_grad_()
    alone = info_nce(query, document, masked_BN=masked, margin=1.0)
    assert alone.item() == 0.0
    alone.backward()  # type: ignore[no-untyped-call]
    assert query.grad is not None
    assert torch.isfinite(query.grad).all()
    bank = kept(query.detach()[:1], torch.zeros(1, 1, dtype=torch.bool))
    hinge = info_nce(query, document, masked_BN=masked, bank=bank, temperature=1.0, margin=1.5) - info_nce(
        query, document, masked_BN=masked, bank=bank, temperature=1.0
    )
    assert hinge.item() == pytest.approx((1.5 + 0.5) / 2)


def test_a_masked_candidate_is_as_good_as_absent() -> None:
    generator = torch.Generator().manual_seed(0)
    query, document, extra = (F.normalize(torch.randn(5, 8, generator=generator), dim=-1) for _ in range(3))
    masked = torch.zeros(5, 10, dtype=torch.bool)
    masked[:, 5:] = True
    with_masked = info_nce(query, document, extra_MD=extra, masked_BN=masked)
    assert with_masked.item() == pytest.approx(info_nce(query, document).item())


def test_further_negatives_raise_the_loss() -> None:
    generator = torch.Generator().manual_seed(0)
    query, document, extra = (F.normalize(torch.randn(5, 8, generator=generator), dim=-1) for _ in range(3))
    assert info_nce(query, document, extra_MD=extra) > info_nce(query, document)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        info_nce(torch.eye(3), torch.eye(4))
    with pytest.raises(ValueError, match="temperature"):
        info_nce(torch.eye(3), torch.eye(3), temperature=0.0)
