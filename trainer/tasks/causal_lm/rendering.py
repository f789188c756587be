"""From turns to the text a model reads, and which characters of it the model is to learn.

Conversations go through the tokenizer's chat template, or a plain one where it
has none.  A prompt with its completion, and plain text, are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerFast

from trainer.datasets.conversations import Conversations
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.turns import Turn
from trainer.language.token_cache import Span

PLAIN_TEMPLATE: Final = (
    "{% for message in messages %}"
    "{{ '### ' + message['role'] | capitalize + ':\n' + message['content'] }}"
    "{% if message['role'] == 'assistant' and eos_token %}{{ eos_token }}{% endif %}{{ '\n\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Assistant:\n' }}{% endif %}"
)
_TELL_EVERY: Final = 500


@dataclass(frozen=True)
class Rendered:
    """Texts as they are tokenised.

    Attributes:
        texts: one per example.
        spans: of each text the characters to be learned.
        adds_special_tokens: whether the tokenizer is to add its own around a text; a chat template has them.
    """

    texts: list[str]
    spans: list[list[Span]]
    adds_special_tokens: bool


def give_template(tokenizer: PreTrainedTokenizerFast) -> bool:
    """Give a tokenizer without a chat template the plain one; says whether it needed one."""
    if tokenizer.chat_template:
        return False
    tokenizer.chat_template = PLAIN_TEMPLATE
    return True


def render(
    conversations: Conversations, tokenizer: PreTrainedTokenizerFast, *, learn_prompt: bool, tell: Tell
) -> Rendered:
    """The texts of all examples.

    Raises:
        DatasetError: the chat template refuses a conversation; names the example.
    """
    texts, spans = [], []
    for row, turns in enumerate(conversations.turns):
        if row % _TELL_EVERY == 0:
            tell("writing out the examples", row / len(conversations))
        if conversations.kind == "messages":
            try:
                text, learned = rendered_chat(tokenizer, turns)
            except (TemplateError, DatasetError) as exc:
                raise DatasetError(
                    f"{conversations.name}, example {conversations.ids[row]}: the tokenizer's chat template "
                    f"refuses it ({exc})"
                ) from exc
        else:
            text = "".join(turn.text for turn in turns)
            learned = [(len(text) - len(turns[-1].text), len(text))]
        texts.append(text)
        spans.append([(0, len(text))] if learn_prompt else learned)
    return Rendered(texts, spans, conversations.kind != "messages")


def rendered_chat(tokenizer: PreTrainedTokenizerFast, turns: tuple[Turn, ...]) -> tuple[str, list[Span]]:
    """A conversation as text, and where in it the assistant speaks.

    An earlier turn that the template writes differently once the conversation
    has gone on is not learned; the last one always is.
    """
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    whole = _applied(tokenizer, messages)
    spans = []
    for number, turn in enumerate(turns):
        if turn.role != "assistant":
            continue
        before = _applied(tokenizer, messages[:number], asks=True)
        after = whole if number == len(turns) - 1 else _applied(tokenizer, messages[: number + 1])
        if len(before) < len(after) and whole.startswith(after) and after.startswith(before):
            spans.append((len(before), _end_of(after, len(before), tokenizer)))
    if not spans:
        raise DatasetError("it does not write the assistant's answer after what it writes to ask for one")
    return whole, spans


def chat_prompt(tokenizer: PreTrainedTokenizerFast, prompt: str) -> str:
    """What a model that was trained on conversations reads before it answers ``prompt``."""
    return _applied(tokenizer, [{"role": "user", "content": prompt}], asks=True)


def _applied(
    tokenizer: PreTrainedTokenizerFast, messages: list[dict[str, str]], *, asks: bool = False
) -> str:
    applied: Any = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks)
    return str(applied)


def _end_of(text: str, start: int, tokenizer: PreTrainedTokenizerFast) -> int:
    """After the end token of the turn that begins at ``start``; its white space after that is not learned."""
    end = str(tokenizer.eos_token or "")
    found = text.rfind(end, start) if end else -1
    return found + len(end) if found >= 0 else len(text)
