"""What is wrong with the rows, the model, the shapes and the vectors a run was given."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature

SIGNATURES: Final = (
    Signature(
        "bad_jsonl",
        r"\b(?:JSONDecodeError|ArrowInvalid|UnicodeDecodeError|JSONLDecodeError)\b: "
        r"|ParserError: Error tokenizing",
        cause="A row or file is malformed: no valid JSON, CSV or UTF-8 text.",
        remedy="Look at the line or position named in the message, and repair or remove it.",
        source="https://docs.python.org/3/library/json.html#exceptions",
        vague=r"DatasetGenerationError: ",
    ),
    Signature(
        "dataset_refused",
        r"^trainer\.datasets\.\w+\.DatasetError: ",
        cause="The dataset cannot be used; the message names the file and the place in it.",
        remedy="Repair the row, column or array the message names, then start again: nothing was trained.",
        source="docs/diagnosis.md",
        rank=8,
    ),
    Signature(
        "model_refused",
        r"^trainer\.language\.sources\.ModelError: ",
        cause="The model cannot be used as it was asked for; the message names the file or the parameter.",
        remedy="Change what the message names, then start again: nothing was trained.",
        source="docs/diagnosis.md",
        rank=8,
    ),
    Signature(
        "ckpt_misfit",
        r"^trainer\.engine\.checkpoints\.CheckpointError: .* does not fit this run's model or parameters",
        cause="The checkpoint was written with other parameters or by another model than this run's.",
        remedy="Resume with the parameters the checkpoint was written with, or start a new run.",
        source="docs/diagnosis.md",
        rank=8,
    ),
    Signature(
        "empty_dataset",
        r"num_samples should be a positive integer value, but got num_samples=0|Number of samples: 0$"
        r"|ValueError: (?:the )?(?:dataset|train_dataset|training set) is empty"
        r"|SchemaInferenceError: Please pass",
        cause="The dataset is empty: every row was filtered out, or the file has none.",
        remedy="Look at the file and at the filters in front of it.",
        source="https://github.com/pytorch/pytorch/blob/main/torch/utils/data/sampler.py",
        rank=6,
    ),
    Signature(
        "shape_dtype",
        r"mat1 and mat2 shapes cannot be multiplied|to have the same dtype|expected scalar type"
        r"|must match the size of tensor b|Sizes of tensors must match except in dimension"
        r"|stack expects each tensor to be equal size|mat1 and mat2 must have the same dtype"
        r"|Expected input batch_size \(\d+\) to match target batch_size|must have the same dtype"
        r"|size mismatch, (?:m1|got)\b|expected input\b.* to have \d+ channels"
        r"|shape '\[[-\d, ]*\]' is invalid for input of size"
        r"|The expanded size of the tensor \(\d+\) must match"
        r"|operands could not be broadcast together|Expected object of scalar type"
        r"|Incompatible shapes: \[|Cannot batch tensors with different shapes|Matrix size-incompatible",
        cause="Two tensors do not fit together in shape or type.",
        remedy="Compare the sizes in the message with the model's; take them from the dataset, not from "
        "constants.",
        source="measured with torch 2.13",
    ),
    Signature(
        "faiss_dim",
        r"assert d == self\.d",
        cause="The vectors have another number of dimensions than the FAISS index.",
        remedy="Build the index with the dimension of these vectors.",
        source="measured with faiss-cpu 1.15.1",
        rank=7,
    ),
    Signature(
        "faiss_untrained",
        r"Error: 'is_trained' failed|Number of training points \(\d+\) should be at least",
        cause="The FAISS index was not trained, or has more cells than there are vectors to train it.",
        remedy="Use a flat index below about 10,000 vectors, else at most one cell per 39 vectors.",
        source="measured with faiss-cpu 1.15.1",
        rank=7,
    ),
    Signature(
        "padding_missing",
        r"Asking to pad but the tokenizer does not have a padding token"
        r"|Unable to create tensor, you should probably activate truncation and/or padding",
        cause="Texts of different lengths were put into one batch without padding.",
        remedy="Set tokenizer.pad_token = tokenizer.eos_token, and pad in the collator.",
        source="https://github.com/huggingface/trl/issues/466",
        rank=6,
    ),
)
