"""Packages that are missing, renamed or too new, and command lines that name what is not there."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature

SIGNATURES: Final = (
    Signature(
        "hf_args_removed",
        r"__init__\(\) got an unexpected keyword argument '(\w+)'",
        cause="An argument was removed or renamed in the installed version of a package.",
        remedy="Rename or remove the argument the message names. In transformers evaluation_strategy became "
        "eval_strategy, no_cuda use_cpu, and tokenizer processing_class.",
        source="https://github.com/ghmagazine/llm-book/issues/56",
        rank=6,
    ),
    Signature(
        "trl_removed",
        r"cannot import name 'DataCollatorForCompletionOnlyLM'",
        cause="The trl package no longer has DataCollatorForCompletionOnlyLM: version 0.20 removed it.",
        remedy="Use completion_only_loss or assistant_only_loss of SFTConfig.",
        source="https://github.com/huggingface/trl/releases",
        rank=7,
    ),
    Signature(
        "import_name",
        r"(?:ImportError: |^|traceback\): ?)cannot import name '\w+' from '[\w.]+'"
        r"|AttributeError: .np\.\w+. was removed in the NumPy"
        r"|AttributeError: module 'numpy' has no attribute '(?:bool8?|float|int|object|str|long"
        r"|unicode|typeDict)'",
        cause="Two packages do not fit together: one asks the other for something it has not, or no longer.",
        remedy="Upgrade both packages, or install the versions that were tried together.",
        source="https://docs.python.org/3/library/exceptions.html#ImportError",
        rank=4,
    ),
    Signature(
        "cli_usage",
        r"error: (?:unrecognized arguments|the following arguments are required|argument .*: (?:invalid"
        r"|expected))",
        cause="The command line names an option the script does not have, or lacks one it needs.",
        remedy="Compare with what the script prints for --help.",
        source="https://docs.python.org/3/library/argparse.html",
        rank=7,
    ),
    Signature(
        "missing_module",
        r"ModuleNotFoundError: No module named '([^']+)'"
        r"|^(?:\S+: )?ImportError: .*\b(?:requires?|needs)\b.*\b(?:pip|conda) install\b",
        cause="A Python package is not installed in the environment the trainer ran in.",
        remedy="Install it with pip of the same environment the trainer runs in; the message names it.",
        source="https://docs.python.org/3/library/exceptions.html#ModuleNotFoundError",
    ),
    Signature(
        "hf_hub",
        r"We couldn't connect to 'https://huggingface\.co'|LocalEntryNotFoundError|GatedRepoError"
        r"|401 Client Error"
        r"|RepositoryNotFoundError|is not a local folder and is not a valid model identifier"
        r"|OfflineModeIsEnabled",
        cause="A model or dataset could not be fetched: no network, no permission, or no such name.",
        remedy="Check the name, log in for gated models, or download it beforehand and set HF_HUB_OFFLINE=1.",
        source="https://github.com/huggingface/huggingface_hub/issues/2319",
        rank=6,
    ),
    Signature(
        "syntax_error",
        r"^(?:SyntaxError|IndentationError|TabError): ",
        cause="A Python file cannot be read: there is a mistake in its text, or it needs a newer Python.",
        remedy="Open the file at the line shown above the message.",
        source="https://docs.python.org/3/library/exceptions.html#SyntaxError",
        rank=6,
    ),
)
