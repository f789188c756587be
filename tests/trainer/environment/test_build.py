"""The environment is built from an allow-list, and its numbers are the ones that were measured to work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainer.environment.build import AUTO_DEVICE, PROFILES, build, device_conflict
from trainer.environment.command import command, keep_awake
from trainer.environment.cores import usable_cores
from trainer.environment.secrets import HIDDEN as HIDDEN_VALUE
from trainer.environment.variables import as_environ


def test_no_secret_of_the_parent_gets_through() -> None:
    inherited = {
        "PATH": "/bin",
        "AWS_SECRET_KEY": "x",
        "SIGNALBOX_TOKEN": "y",
        "OMP_NUM_THREADS": "99",
    }
    environ = as_environ(build(platform="linux", physical_cores=4, inherited=inherited))
    assert environ["PATH"] == "/bin"
    assert "AWS_SECRET_KEY" not in environ
    assert "SIGNALBOX_TOKEN" not in environ
    assert environ["OMP_NUM_THREADS"] == "4"


def test_threads_are_equal_in_all_runtimes_and_shared_between_concurrent_runs() -> None:
    environ = as_environ(build(platform="linux", physical_cores=8, num_concurrent=3))
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_MAX_THREADS")
    assert {environ[name] for name in names} == {"2"}


def waits(*, platform: str = "linux", profile: str = "auto", runs: int = 1, busy: float = 0.0) -> str | None:
    variables = build(
        platform=platform, profile=profile, physical_cores=8, num_concurrent=runs, busy_cores=busy
    )
    return as_environ(variables).get("OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    ("runs", "busy", "policy"),
    [(1, 0.0, None), (1, 0.4, None), (1, 1.0, "PASSIVE"), (2, 4.0, None), (2, 5.0, "PASSIVE")],
)
def test_waiting_threads_sleep_where_there_are_fewer_free_cores_than_threads(
    runs: int, busy: float, policy: str | None
) -> None:
    assert waits(runs=runs, busy=busy) == policy


def test_waiting_threads_always_sleep_where_nothing_was_measured_and_in_the_safe_profile() -> None:
    assert waits(platform="darwin") == waits(platform="win32") == waits(profile="safe") == "PASSIVE"


def test_more_runs_than_cores_still_leave_one_thread_each() -> None:
    assert as_environ(build(platform="linux", physical_cores=2, num_concurrent=5))["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("profile", ["auto", "safe"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_unsafe_openmp_flag_is_set_only_where_torch_and_faiss_share_a_process_on_macos(
    profile: str, platform: str
) -> None:
    apart = as_environ(build(platform=platform, profile=profile))
    together = build(platform=platform, profile=profile, faiss_shares_process=True)
    reasons = [one.reason for one in together if one.name == "KMP_DUPLICATE_LIB_OK"]
    assert "KMP_DUPLICATE_LIB_OK" not in apart
    assert len(reasons) == (platform == "darwin")
    assert all(reason.startswith("unsafe") for reason in reasons)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_memory_limit_of_mps_stays_at_its_default(platform: str) -> None:
    assert not any("WATERMARK" in name for name in as_environ(build(platform=platform)))


def test_macos_falls_back_from_mps_and_bounds_its_own_blas() -> None:
    environ = as_environ(build(platform="darwin", device="mps"))
    assert environ["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"
    assert "VECLIB_MAXIMUM_THREADS" in environ


def test_classic_reproduces_the_original_recipe_with_its_warnings() -> None:
    variables = {variable.name: variable for variable in build(platform="darwin", profile="classic")}
    assert variables["KMP_DUPLICATE_LIB_OK"].value == "TRUE"
    assert (variables["OMP_NUM_THREADS"].value, variables["MKL_NUM_THREADS"].value) == ("4", "1")
    assert variables["PYTORCH_MPS_HIGH_WATERMARK_RATIO"].value == "0.0"
    assert "wrong results" in variables["KMP_DUPLICATE_LIB_OK"].reason


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "mps"])
def test_classic_sets_what_the_original_set_everywhere_and_nothing_else(platform: str, device: str) -> None:
    environ = as_environ(build(platform=platform, device=device, profile="classic", physical_cores=8))
    ours = {name for name in environ if not name.startswith(("PYTHON", "SIGNALBOX_"))}
    assert {name: environ[name] for name in ours} == {
        "KMP_DUPLICATE_LIB_OK": "TRUE",
        "OMP_NUM_THREADS": "4",
        "MKL_NUM_THREADS": "1",
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.0",
        "TOKENIZERS_PARALLELISM": "false",
        "USE_TF": "0",
    }


ALLOCATOR, FALLBACK, HIDDEN = "PYTORCH_ALLOC_CONF", "PYTORCH_ENABLE_MPS_FALLBACK", "CUDA_VISIBLE_DEVICES"
DEVICE_VARIABLES = {ALLOCATOR, FALLBACK, HIDDEN, AUTO_DEVICE}


@pytest.mark.parametrize(
    ("platform", "device", "profile", "expected"),
    [
        ("linux", "auto", "auto", {ALLOCATOR: "expandable_segments:True"}),
        ("linux", "cuda", "auto", {ALLOCATOR: "expandable_segments:True"}),
        ("linux", "cpu", "auto", {HIDDEN: ""}),
        ("linux", "mps", "auto", {}),
        ("darwin", "auto", "auto", {FALLBACK: "1"}),
        ("darwin", "mps", "auto", {FALLBACK: "1"}),
        ("darwin", "cpu", "auto", {HIDDEN: ""}),
        ("darwin", "cuda", "auto", {}),
        ("win32", "auto", "auto", {}),
        ("win32", "cuda", "auto", {}),
        ("win32", "cpu", "auto", {HIDDEN: ""}),
        ("linux", "auto", "safe", {HIDDEN: "", AUTO_DEVICE: "cpu"}),
        ("darwin", "auto", "safe", {HIDDEN: "", AUTO_DEVICE: "cpu"}),
        ("win32", "cpu", "safe", {HIDDEN: "", AUTO_DEVICE: "cpu"}),
    ],
)
def test_each_device_gets_its_own_variables(
    platform: str, device: str, profile: str, expected: dict[str, str]
) -> None:
    environ = as_environ(build(platform=platform, device=device, profile=profile, physical_cores=8))
    assert {name: environ[name] for name in DEVICE_VARIABLES & environ.keys()} == expected


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("2.9.1+cu128", "PYTORCH_CUDA_ALLOC_CONF"),
        ("2.10.0", "PYTORCH_CUDA_ALLOC_CONF"),
        ("2.11.0", ALLOCATOR),
        ("2.13.0+cpu", ALLOCATOR),
        ("3.0.0a0", ALLOCATOR),
        (None, ALLOCATOR),
        ("git", ALLOCATOR),
    ],
)
def test_the_allocator_is_told_under_the_name_its_version_obeys(version: str | None, name: str) -> None:
    environ = as_environ(build(platform="linux", device="cuda", torch_version=version))
    assert [one for one in environ if one.endswith("ALLOC_CONF")] == [name]


def test_windows_gets_what_it_cannot_start_without_and_others_do_not() -> None:
    inherited = {"SYSTEMROOT": "C:", "TEMP": "T", "USERPROFILE": "U", "LD_LIBRARY_PATH": "L", "PATH": "P"}
    windows = as_environ(build(platform="win32", inherited=inherited))
    linux = as_environ(build(platform="linux", inherited=inherited))
    assert inherited.keys() & windows.keys() == {"SYSTEMROOT", "TEMP", "USERPROFILE", "PATH"}
    assert inherited.keys() & linux.keys() == {"LD_LIBRARY_PATH", "PATH"}


def test_yours_win_over_ours_and_rungs_over_yours_and_what_they_replaced_stays_visible() -> None:
    variables = {
        one.name: one
        for one in build(
            platform="linux",
            physical_cores=8,
            overrides={"OMP_NUM_THREADS": "2", "MY_OWN": "x"},
            rung_variables={"OMP_NUM_THREADS": "1"},
        )
    }
    threads, own = variables["OMP_NUM_THREADS"].to_json(), variables["MY_OWN"].to_json()
    assert (threads["value"], threads["source"]) == ("1", "rung")
    assert threads["replaced"] == {"value": "2", "source": "yours"}
    assert (own["value"], own["source"], own["replaced"]) == ("x", "yours", None)
    assert variables["MKL_NUM_THREADS"].to_json()["replaced"] is None


def test_a_secret_reaches_the_trainer_and_nobody_else() -> None:
    variables = build(overrides={"HF_TOKEN": "hf_abc", "TOKENIZERS_PARALLELISM": "true", "EMPTY_KEY": ""})
    assert as_environ(variables)["HF_TOKEN"] == "hf_abc"
    shown = {one["name"]: one["value"] for one in (variable.to_json() for variable in variables)}
    assert (shown["HF_TOKEN"], shown["TOKENIZERS_PARALLELISM"], shown["EMPTY_KEY"]) == (
        HIDDEN_VALUE,
        "true",
        "",
    )
    assert "hf_abc" not in str([variable.to_json() for variable in variables])


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_profile_safe_and_a_gpu_contradict_each_other(device: str) -> None:
    assert device in (device_conflict(device, "safe") or "")
    assert device_conflict("auto", "safe") is None
    assert device_conflict(device, "auto") is None


def test_safe_hides_the_gpu_even_when_the_user_had_chosen_one() -> None:
    variables = build(profile="safe", platform="linux", inherited={"CUDA_VISIBLE_DEVICES": "0"})
    assert [v.value for v in variables if v.name == "CUDA_VISIBLE_DEVICES"] == [""]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_variable_has_a_reason_and_appears_once(profile: str) -> None:
    variables = build(profile=profile, inherited={"PATH": "/bin", "HOME": "/home/x"}, run_dir="/runs/a")
    assert all(one.reason and one.source and one.reference for one in variables)
    assert len({variable.name for variable in variables}) == len(variables)


def test_an_unknown_profile_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="auto, safe, classic"):
        build(profile="fast")


def test_the_command_starts_a_fresh_unbuffered_interpreter() -> None:
    argv = command("/runs/a", 2)
    assert argv[0] == sys.executable
    assert argv[1:] == ["-u", "-X", "faulthandler", "-P", "-m", "trainer.engine", "/runs/a", "--attempt", "2"]


def test_a_mac_is_kept_awake_by_a_companion_that_leaves_with_the_trainer() -> None:
    assert keep_awake(7, platform="darwin", program=sys.executable) == [sys.executable, "-ims", "-w", "7"]
    assert keep_awake(7, platform="darwin", program="/no/such/caffeinate") is None
    assert keep_awake(7, platform="linux", program=sys.executable) is None


def test_cores_are_at_least_one() -> None:
    assert usable_cores() >= 1


def test_importing_the_environment_loads_no_torch() -> None:
    code = "import sys, trainer.environment.build, trainer.environment.command; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
