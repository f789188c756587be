"""What a script may hand over, and from where: each odd thing has one effect, none raises or blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.telemetry.test_current import new_run, output_of, told

pytestmark = pytest.mark.process


def reported(folder: Path, program: str) -> list[tuple[int, dict[str, object]]]:
    paths = new_run(folder)
    output_of(paths, program)
    return [(event["step"], event["values"]) for event in told(paths)]


def test_numbers_of_every_library_are_taken_and_everything_else_is_left_out(tmp_path: Path) -> None:
    program = """
        import numpy, torch
        from decimal import Decimal
        from fractions import Fraction
        from trainer.telemetry import current_run
        current_run().log({
            "tensor": torch.tensor(0.5, requires_grad=True), "one_element": torch.tensor([[0.25]]),
            "half": torch.tensor(0.5, dtype=torch.bfloat16), "vector": torch.ones(3), "empty": torch.ones(0),
            "numpy": numpy.float32(0.5), "int64": numpy.int64(3),
            "array0": numpy.array(1.5), "array": numpy.ones(2),
            "bool": True, "int": 7, "huge_int": 10**400,
            "decimal": Decimal("0.5"), "fraction": Fraction(1, 2),
            "text": "0.5", "none": None, "list": [1.0], "complex": 1j, "function": print,
        }, step=numpy.int64(1))
    """
    ((step, values),) = reported(tmp_path, program)
    assert step == 1
    assert values == {
        "tensor": 0.5, "one_element": 0.25, "half": 0.5, "numpy": 0.5, "int64": 3.0, "array0": 1.5,
        "bool": 1.0, "int": 7.0, "decimal": 0.5, "fraction": 0.5,
    }  # fmt: skip


def test_what_is_no_number_travels_as_such_and_nested_names_are_joined(tmp_path: Path) -> None:
    program = """
        from trainer.telemetry import current_run
        deep = {"a": 1.0}
        for _ in range(20):
            deep = {"d": deep}
        itself = {"a": 1.0}
        itself["again"] = itself
        log = current_run().log
        log({"nan": float("nan"), "inf": float("inf"), "minus": -float("inf")}, step=1)
        odd = {7: 2.0, ("x", 1): 3.0, None: 4.0, "": 5.0, "line\\nbreak": 6.0, "k" * 999: 7.0}
        log({"a": {"b": {"c": 1.0}}} | odd, step=2)
        log(deep, step=3), log(itself, step=4)
        log({f"m{n}": float(n) for n in range(100_000)}, step=5)
    """
    first, second, fourth, fifth = reported(tmp_path, program)
    assert first == (1, {"nan": "NaN", "inf": "Infinity", "minus": "-Infinity"})
    assert second == (
        2,
        {
            "a/b/c": 1.0,
            "7": 2.0,
            "('x', 1)": 3.0,
            "None": 4.0,
            "unnamed": 5.0,
            "line_break": 6.0,
            "k" * 200: 7.0,
        },
    )
    assert fourth[0] == 4
    assert fourth[1]["a"] == 1.0
    assert fifth[0] == 5
    assert len(fifth[1]) == 1000


def test_a_step_that_goes_back_is_left_out_for_series_that_are_further(tmp_path: Path) -> None:
    program = """
        from trainer.telemetry import current_run
        run = current_run()
        run.log({"a": 1.0}, step=5)
        run.log({"a": 2.0, "b": 2.0}, step=3)
        run.log({"a": 3.0}, step=-4)
        run.log({"a": 4.0}, step=10**30), run.log({"a": 5.0}, step=float("nan"))
        run.log({"a": 6.0}, step=True)
        run.log({"a": 7.0}, step=6.0)
        run.log({"a": 8.0})
    """
    assert reported(tmp_path, program) == [(5, {"a": 1.0}), (3, {"b": 2.0}), (6, {"a": 7.0}), (7, {"a": 8.0})]


def test_workers_of_a_loader_and_spawned_children_neither_report_nor_hinder(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("""
import multiprocessing, sys, threading, time
import torch
from trainer.telemetry import current_run
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, n):
        current_run().log({"a": -1.0}, step=99)
        assert not current_run().should_stop()
        return float(n)
def child(queue):
    current_run().log({"a": -2.0}, step=99)
    current_run().finish()
    queue.put(1)
if __name__ == "__main__":
    run = current_run()
    run.log({"a": 1.0}, step=1)
    threading.Thread(target=lambda: [run.log({"t": float(n)}, step=n) for n in range(50)]).start()
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2):
        run.log({"a": 1.0})
    for method in ("spawn", "fork"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start(), queue.get(timeout=60), process.join(60)
        assert process.exitcode == 0
    run.log({"a": 2.0}, step=200)
    run.finish()
""")
    paths = new_run(tmp_path)
    program = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    output_of(paths, program, OMP_NUM_THREADS="1")
    seen = [event["values"]["a"] for event in told(paths) if "a" in event["values"]]
    assert set(seen) == {1.0, 2.0}
    assert len(told(paths, "finished")) == 1
