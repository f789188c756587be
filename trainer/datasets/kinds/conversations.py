"""What a language model learns to write: conversations, instructions, completions, or plain text."""

from __future__ import annotations

from trainer.datasets.kinds.declaration import DatasetKind, Role

KIND = DatasetKind(
    name="conversations",
    title="Conversations and texts",
    help="Messages, instructions with outputs, prompts with completions, or plain text: for language models.",
    roles=(
        Role("messages", "A list of {role, content}.", ("conversation", "conversations", "dialog", "turns")),
        Role("instruction", "What is to be done.", ("task",)),
        Role("output", "What should be written then.", ("answer", "target")),
        Role("prompt", "What the model is given.", ("question",)),
        Role("completion", "What it should go on with.", ("response", "chosen", "reply")),
        Role("text", "A whole text to learn.", ("content", "document", "body")),
        Role("input", "With instruction: what it is done with.", ("context",)),
        Role("system", "With instruction: how the answers shall be.", ("system_prompt",)),
        Role("group", "Rows that belong together: never split.", ("thread",)),
        Role("id", "A unique name of the row.", ("key", "uid", "row_id")),
    ),
    needs=(("messages",), ("instruction", "output"), ("prompt", "completion"), ("text",)),
    endings=(".jsonl", ".ndjson", ".json", ".txt"),
    reader="trainer.datasets.conversations:read",
    whole_text=(".txt",),
)
