"""While libraries are imported nobody looks for garbage."""

from __future__ import annotations

import gc

from trainer.engine.importing import importing


def test_the_collector_rests_meanwhile_and_works_again_afterwards() -> None:
    assert gc.isenabled()

    with importing():
        assert not gc.isenabled()

    assert gc.isenabled()
    gc.unfreeze()
