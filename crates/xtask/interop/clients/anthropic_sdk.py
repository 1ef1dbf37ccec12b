"""The official Anthropic SDK as a client of a server that speaks its format."""

import anthropic
import pydantic
from anthropic.types import RawMessageStreamEvent

from play import QUESTION, RESULT, SYSTEM, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA, call, play, told, usage

STOPS = {"end_turn": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens", "refusal": "refusal"}
EVENTS = pydantic.TypeAdapter(RawMessageStreamEvent)
NAMES = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
}


def connect(url, key):
    return anthropic.Anthropic(api_key=key, base_url=url, max_retries=0)


def streamed_message(client, request):
    """Kinds of events that are new have to be borne, so that the SDK cannot be strict; the known ones are checked here."""
    with client.messages.stream(**request) as stream:
        for event in stream:
            if event.type in NAMES:
                EVENTS.validate_python(event.to_dict())
        return stream.get_final_message()


def begin():
    return [{"role": "user", "content": QUESTION}]


def ask(client, history, streamed):
    request = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 4096,
        "system": SYSTEM,
        "thinking": {"type": "adaptive"},
        "tools": [{"name": TOOL, "description": TOOL_DESCRIPTION, "input_schema": TOOL_SCHEMA}],
        "messages": history,
    }
    if streamed:
        message = streamed_message(client, request)
    else:
        message = client.with_options(_extra_kwargs={"_strict_response_validation": True}).messages.create(**request)
    uses = [block for block in message.content if block.type == "tool_use"]
    counts = message.usage
    cached = counts.cache_read_input_tokens or 0
    details = counts.output_tokens_details
    answer = told(
        "".join(block.thinking for block in message.content if block.type == "thinking"),
        "".join(block.text for block in message.content if block.type == "text"),
        [call(use.id, use.name, use.input) for use in uses],
        STOPS.get(message.stop_reason, message.stop_reason),
        usage(
            counts.input_tokens + cached + (counts.cache_creation_input_tokens or 0),
            counts.output_tokens,
            cached,
            details.thinking_tokens if details else 0,
        ),
    )
    results = [{"type": "tool_result", "tool_use_id": use.id, "content": RESULT} for use in uses]
    after = results or [{"type": "text", "text": "Sure?"}]
    content = [block.model_dump(exclude_none=True, mode="json") for block in message.content]
    return answer, [*history, {"role": "assistant", "content": content}, {"role": "user", "content": after}]


play(connect, begin, ask, lambda error: getattr(error, "status_code", None))
