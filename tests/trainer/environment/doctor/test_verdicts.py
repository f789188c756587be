"""Each probe judges figures of good, odd and bad machines rightly."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from trainer.environment.doctor import (
    clock,
    disk,
    fork_safety,
    gradients,
    gradients_cuda,
    gradients_mps,
    memory_limit,
    open_files,
    openmp,
    shared_memory,
    sqlite,
    versions,
)
from trainer.environment.doctor.sizes import GIB, MIB, size
from trainer.environment.doctor.surroundings import Surroundings

TRIED = {"torch": "2.13.0", "faiss-cpu": "1.15.1", "numpy": "2.4.6"}


def pool(name: str, api: str = "openmp", threads: int = 2) -> dict[str, object]:
    return {"filepath": f"/x/{name}", "user_api": api, "num_threads": threads, "prefix": name.split(".")[0]}


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (["libomp.dylib", "libomp.dylib"], "problem"),
        (["libomp.so.5", "libiomp5.so"], "problem"),
        (["libomp.so.5", "libgomp.so.1"], "warning"),
        (["libgomp.so.1", "libgomp-e985bcbb.so.1.0.0"], "note"),
        (["libomp.dylib"], "ok"),
    ],
)
def test_only_runtimes_that_clash_are_a_problem(names: list[str], verdict: str) -> None:
    check = openmp.runtimes_check([pool(name) for name in names], [])
    assert check.verdict == verdict
    assert bool(check.remedy) == (verdict in ("warning", "problem"))


def test_threads_other_than_asked_for_are_named() -> None:
    pools = [pool("libgomp.so.1"), pool("libopenblas.so", "blas", threads=16)]
    check = openmp.threads_check(pools, {"torch": 2, "faiss": 2}, asked=2, started=1)
    assert check.verdict == "warning"
    assert "libopenblas.so 16" in check.found
    fewer = openmp.threads_check([pool("libgomp.so.1")], {"torch": 1, "faiss": 2}, asked=2, started=1)
    assert (fewer.verdict, "torch 1" in fewer.found) == ("note", True)


def test_wrong_and_undefined_gradients_are_a_problem_that_names_the_tower() -> None:
    facts = {"device": "MPS", "torch": "2.13"}
    assert gradients.judge({"linear": 1e-6, "gru": 1e-3}, device="mps", facts=facts).verdict == "ok"
    check = gradients.judge({"linear": 1e-6, "gru": math.nan}, device="mps", facts=facts)
    assert check.verdict == "problem"
    assert "gru" in check.found
    assert "without recurrent layers" in check.remedy
    assert gradients.judge({"linear": 0.5, "gru": 0.0}, device="cpu", facts=facts).verdict == "problem"


def test_accelerators_that_are_not_there_load_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bare = Surroundings(tmp_path, platform="linux", root=tmp_path)
    assert [check.verdict for check in gradients_cuda.look(bare)] == ["ok"]
    assert [check.verdict for check in gradients_mps.look(bare)] == ["ok"]
    assert not gradients_cuda.has_nvidia(bare)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()
    assert gradients_cuda.has_nvidia(bare)


def test_a_fork_that_hangs_is_a_note_with_what_to_do_instead() -> None:
    check = fork_safety.judge(ended=False, start_method="fork", num_threads=2)
    assert (check.verdict, "spawn" in check.remedy) == ("note", True)
    assert fork_safety.judge(ended=True, start_method="fork", num_threads=1).verdict == "ok"
    (elsewhere,) = fork_safety.look(Surroundings(Path("/nowhere"), platform="darwin"))
    assert elsewhere.verdict == "ok"


@pytest.mark.parametrize(
    ("changed", "platform", "verdict", "words"),
    [
        ({}, "linux", "ok", "None among"),
        ({"faiss-cpu": "1.7.4"}, "linux", "problem", "cannot be imported beside NumPy 2"),
        ({"torch": "2.2.1"}, "linux", "problem", "torch before 2.3"),
        ({"tensorflow": "2.20.0", "pyarrow": "20.0.0"}, "darwin", "problem", "Lock blocking"),
        ({"tensorflow": "2.20.0", "pyarrow": "20.0.0"}, "linux", "ok", "None among"),
        ({"datasets": "4.1.0"}, "linux", "note", "num_proc=1"),
        ({"numpy": "2.4.5"}, "linux", "note", "1 packages differ"),
    ],
)
def test_versions_known_to_be_bad_are_found_alone_and_together(
    changed: dict[str, str], platform: str, verdict: str, words: str
) -> None:
    check = versions.judge({**TRIED, **changed}, pins={"numpy": "2.4.6"}, platform=platform)
    assert check.verdict == verdict
    assert words in check.found


def test_a_missing_library_is_a_problem_and_a_local_build_is_the_same_version() -> None:
    assert (
        "torch is not installed"
        in versions.judge({"numpy": "2.4.6", "faiss-cpu": "1.15.1"}, pins={}, platform="linux").found
    )
    check = versions.judge({**TRIED, "torch": "2.13.0+cpu"}, pins={"torch": "2.13.0"}, platform="linux")
    assert check.verdict == "ok"
    assert versions.pinned(versions.REQUIREMENTS)["numpy"]


@pytest.mark.parametrize(("version", "verdict"), [("3.40.1", "note"), ("3.51.3", "ok"), ("4.0.0", "ok")])
def test_sqlite_before_its_repair_is_a_note(version: str, verdict: str) -> None:
    assert sqlite.judge(version).verdict == verdict


def test_little_shared_memory_is_a_warning() -> None:
    assert shared_memory.judge(total=64 * MIB, free=64 * MIB).verdict == "warning"
    assert shared_memory.judge(total=8 * GIB, free=MIB).verdict == "warning"
    assert shared_memory.judge(total=8 * GIB, free=8 * GIB).verdict == "ok"
    missing = Surroundings(Path("/nowhere"), platform="linux", root=Path("/nowhere"))
    assert shared_memory.look(missing)[0].verdict == "warning"


def test_two_checkpoints_must_fit(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a" / "checkpoints"
    folder.mkdir(parents=True)
    (folder / "step_000001.pt").write_bytes(b"x" * 5000)
    assert disk.largest_checkpoint(tmp_path / "runs") == 5000
    assert disk.judge(tmp_path, free=3 * GIB, checkpoint=2 * GIB, inodes=None).verdict == "problem"
    assert disk.judge(tmp_path, free=3 * GIB, checkpoint=0, inodes=None).verdict == "warning"
    assert disk.judge(tmp_path, free=100 * GIB, checkpoint=2 * GIB, inodes=10).verdict == "warning"
    assert disk.judge(tmp_path, free=100 * GIB, checkpoint=2 * GIB, inodes=None).verdict == "ok"
    nowhere = Surroundings(Path("/proc/nowhere"))
    assert disk.look(nowhere)[0].verdict == "problem"


def test_few_open_files_are_a_warning() -> None:
    verdicts = [open_files.judge(soft=soft, hard=None).verdict for soft in (256, 1024, 4096, None)]
    assert verdicts == ["warning", "note", "ok", "ok"]


def test_clocks_that_jump_or_stand_wrong_are_told() -> None:
    def verdict(*, now: float = 2e9, drift_s: float = 0.0, file_lag_s: float | None = 0.0) -> str:
        return clock.judge(now=now, drift_s=drift_s, file_lag_s=file_lag_s, written=1.9e9).verdict

    assert verdict() == verdict(file_lag_s=None) == "ok"
    assert verdict(now=0.0) == "problem"
    assert verdict(drift_s=-0.2) == verdict(file_lag_s=-60.0) == "warning"


def files(root: Path, contents: dict[str, str]) -> Path:
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def test_the_lowest_limit_of_control_groups_version_2_rules(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/outer"
    root = files(
        tmp_path,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/cgroup.controllers": "memory pids\n",
            f"{group}/memory.max": f"{GIB}\n",
            f"{group}/memory.current": f"{GIB // 2}\n",
            f"{group}/inner/memory.max": "max\n",
            f"{group}/inner/memory.events": "low 0\noom 3\noom_kill 2\n",
            f"{group}/inner/pids.max": "100\n",
            f"{group}/inner/pids.current": "40\n",
        },
    )
    limits = memory_limit.read_limits(root)
    assert limits == memory_limit.Limits(2, GIB, GIB // 2, 60, 2)
    check = memory_limit.judge(limits, total=32 * GIB, available=30 * GIB)
    assert check.verdict == "warning"
    assert "killed 2 processes" in check.found
    assert "only 60 more processes" in check.found


def test_control_groups_version_1_are_read_too_and_no_limit_is_none(tmp_path: Path) -> None:
    root = files(
        tmp_path,
        {
            "proc/self/cgroup": "8:pids:/\n4:memory:/job\n3:cpu,cpuacct:/\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{4 * GIB}\n",
            "sys/fs/cgroup/memory/job/memory.usage_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
            "sys/fs/cgroup/pids/pids.max": "max\n",
        },
    )
    limits = memory_limit.read_limits(root)
    assert limits == memory_limit.Limits(1, 4 * GIB, GIB, None, 0)
    check = memory_limit.judge(limits, total=32 * GIB, available=30 * GIB)
    assert (check.verdict, "3.0 GiB of it are left" in check.found) == ("ok", True)


def test_a_machine_without_control_groups_has_its_own_memory_only(tmp_path: Path) -> None:
    limits = memory_limit.read_limits(tmp_path)
    assert limits == memory_limit.Limits(0, None, None, None, 0)
    assert memory_limit.judge(limits, total=8 * GIB, available=GIB).verdict == "warning"


def test_sizes_are_written_for_people() -> None:
    assert [size(n) for n in (0, 1536, 200 * MIB, 3 * GIB)] == ["0 bytes", "1.5 KiB", "200 MiB", "3.0 GiB"]
