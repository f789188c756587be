"""Numbers that stopped being numbers, gradients that are not there, runs that did nothing."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature

NAN_LOSS: Final = Signature(
    "nan_loss",
    r"NaN/Inf loss|[Mm]inimum loss scale reached|loss scale already at minimum"
    r"|(?<![A-Za-z])[Ll]oss(?<!best_loss)(?<!best loss)(?<!min_loss)(?<!best_val_loss)(?<!best_eval_loss)"
    r"['\"]?(?:\s*[:=]\s*|\s+is\s+|\s+)['\"]?[-+]?(?:nan|inf)\b"
    r"|\bgrad_norm['\"]?\s*[:=]\s*['\"]?nan\b|NonFiniteLoss"
    r"|probability tensor contains either .?inf.?, .?nan.?|Function '\w+' returned nan values"
    r"|[Ll]oss (?:is|became|went) (?:nan|inf(?:inite)?|NaN|non-finite|not finite)\b",
    cause="The loss is no longer a number (NaN or infinite): the training has diverged.",
    remedy="Go on from the last checkpoint before it with a smaller learning rate, clip gradients to "
    "1.0, and use bf16 or fp32 instead of fp16 (on a Mac fp32).",
    source="https://docs.pytorch.org/docs/stable/notes/amp_examples.html",
    rank=5,
    silent=True,
    anywhere=True,
)
ZERO_STEPS: Final = Signature(
    "zero_step_run",
    r"Checkpoint checkpoint-\d+ is already completed|Total optimization steps\s*=\s*0\s*$"
    r"|TrainOutput\(global_step=0\b",
    cause="Not one step was trained: the run resumed at its last step, or the dataset is smaller than a "
    "batch.",
    remedy="Raise the number of steps above the checkpoint's, or use a smaller batch.",
    source="https://huggingface.co/docs/transformers/main_classes/trainer",
    rank=5,
    silent=True,
    anywhere=True,
)

SIGNATURES: Final = (
    NAN_LOSS,
    ZERO_STEPS,
    Signature(
        "no_grad_graph",
        r"element 0 of tensors does not require grad",
        cause="The loss does not depend on the model: it was built from detached tensors or NumPy arrays.",
        remedy="Keep tensors from model to loss; unfreeze at least one parameter, with LoRA "
        "enable_input_require_grads().",
        source="measured with torch 2.13",
        rank=7,
    ),
    Signature(
        "autograd_misuse",
        r"modified by an inplace operation|Trying to backward through the graph a second time"
        r"|Expected to have finished reduction in the prior iteration",
        cause="The gradient cannot be computed: a tensor it needs was changed, or its graph was already "
        "used up.",
        remedy="Run once with torch.autograd.set_detect_anomaly(True): it names the operation.",
        source="https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection",
        rank=6,
    ),
    Signature(
        "margin_collapse",
        r"Margin collapse detected|ABORT: Margin",
        cause="The run gave up: matching and other pairs had come too close to each other.",
        remedy="Go back to the best checkpoint, with a lower learning rate, harder negatives later, or a "
        "larger margin.",
        source="the original trainers' own message",
        role=Role.CAUSE,
        rank=6,
        silent=True,
    ),
    Signature(
        "below_floors",
        r"^(?:[\w.]+\.)?BelowFloors:",
        cause="The run ended itself: its measures stayed below the floors it was given.",
        remedy="Go back to the best checkpoint with a lower learning rate or easier negatives, lower the "
        "floors, or set stop_below_floors to false.",
        source="docs/two-tower-measures.md",
        role=Role.CAUSE,
        rank=6,
    ),
    Signature(
        "batch_of_one",
        r"Expected more than 1 value per channel when training",
        cause="The last batch holds a single example, which batch normalisation cannot take.",
        remedy="Set drop_last=True, or another batch size.",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html",
        rank=6,
    ),
)
