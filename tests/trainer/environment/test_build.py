"""The environment is built from an allow-list, and its numbers are the ones that were measured to work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainer.environment.build import PROFILES, build
from trainer.environment.command import command
from trainer.environment.cores import usable_cores
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
    assert environ["OMP_WAIT_POLICY"] == "PASSIVE"


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


def test_safe_hides_the_gpu_even_when_the_user_had_chosen_one() -> None:
    variables = build(profile="safe", platform="linux", inherited={"CUDA_VISIBLE_DEVICES": "0"})
    assert [v.value for v in variables if v.name == "CUDA_VISIBLE_DEVICES"] == [""]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_variable_has_a_reason_and_appears_once(profile: str) -> None:
    variables = build(profile=profile, inherited={"PATH": "/bin", "HOME": "/home/x"}, run_dir="/runs/a")
    assert all(variable.reason and variable.source for variable in variables)
    assert len({variable.name for variable in variables}) == len(variables)


def test_an_unknown_profile_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="auto, safe, classic"):
        build(profile="fast")


def test_the_command_starts_a_fresh_unbuffered_interpreter() -> None:
    argv = command("/runs/a", 2)
    assert argv[0] == sys.executable
    assert argv[1:] == ["-u", "-X", "faulthandler", "-P", "-m", "trainer.engine", "/runs/a", "--attempt", "2"]


def test_cores_are_at_least_one() -> None:
    assert usable_cores() >= 1


def test_importing_the_environment_loads_no_torch() -> None:
    code = "import sys, trainer.environment.build, trainer.environment.command; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
