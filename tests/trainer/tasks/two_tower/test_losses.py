import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from trainer.tasks.two_tower.losses import chance_loss, info_nce


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
