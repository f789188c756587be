import pytest

from trainer.asking.chosen import choose, verify
from trainer.asking.faults import AskingError, Fault
from trainer.engine.manifests import Manifest, manifests, mark
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process


def steps(paths: RunPaths) -> list[int]:
    return [one.step for one in manifests(paths)]


def best_of(paths: RunPaths) -> Manifest | None:
    return next((one for one in reversed(manifests(paths)) if one.best), None)


def test_a_checkpoint_is_chosen_by_name_or_step(trained: RunPaths) -> None:
    best = best_of(trained)
    assert best is not None
    assert choose(trained, "last").step == steps(trained)[-1]
    assert choose(trained, "best") == best == choose(trained, None)
    assert choose(trained, str(steps(trained)[0])).step == steps(trained)[0]


@pytest.mark.parametrize("wish", ["newest", "-1", "", "../step_000003", "1e3", "٣", "9" * 40])
def test_what_names_none_is_refused_with_those_there_are(trained: RunPaths, wish: str) -> None:
    with pytest.raises(AskingError) as caught:
        choose(trained, wish)
    assert (caught.value.kind, caught.value.field) == (Fault.CHECKPOINT, "checkpoint")
    assert str(steps(trained)[-1]) in caught.value.hint


def test_a_step_that_is_gone_is_refused(trained: RunPaths) -> None:
    with pytest.raises(AskingError, match="no checkpoint of step 1,000,000"):
        choose(trained, "1000000")


def test_without_a_best_one_the_last_is_asked_and_best_is_refused(run_copy: RunPaths) -> None:
    for one in manifests(run_copy):
        mark(run_copy, one, best=False)
    assert choose(run_copy, None).step == steps(run_copy)[-1]
    with pytest.raises(AskingError, match="No checkpoint is the best yet"):
        choose(run_copy, "best")


def test_a_damaged_one_is_refused_and_stays_where_it_is(run_copy: RunPaths) -> None:
    last = manifests(run_copy)[-1]
    path = run_copy.checkpoints / last.file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(AskingError, match="other content than was written") as caught:
        verify(run_copy, choose(run_copy, "last"))
    assert str(steps(run_copy)[0]) in caught.value.hint
    assert path.exists()


def test_a_run_without_any_has_nothing_to_ask(run_copy: RunPaths) -> None:
    for path in run_copy.checkpoints.iterdir():
        path.unlink()
    with pytest.raises(AskingError, match="no checkpoint yet"):
        choose(run_copy, None)
