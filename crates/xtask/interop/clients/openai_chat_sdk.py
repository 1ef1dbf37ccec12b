"""The official OpenAI SDK as a client of a server that speaks Chat Completions."""

import json

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from play import QUESTION, RESULT, SYSTEM, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA, call, play, told, usage

STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


def connect(url, key):
    return openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0, _strict_response_validation=True)


def begin():
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]


def ask(client, history, streamed):
    function = {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": TOOL_SCHEMA}
    request = {
        "model": "gpt-4.1",
        "max_completion_tokens": 4096,
        "tools": [{"type": "function", "function": function}],
        "messages": history,
    }
    if streamed:
        state = ChatCompletionStreamState()
        for chunk in client.chat.completions.create(
            **request, stream=True, stream_options={"include_usage": True}
        ):
            state.handle_chunk(chunk)
        completion = state.current_completion_snapshot
    else:
        completion = client.chat.completions.create(**request)
    choice = completion.choices[0]
    message = choice.message
    calls = message.tool_calls or []
    counts = completion.usage
    answer = told(
        getattr(message, "reasoning_content", None) or "",
        message.content or "",
        [call(one.id, one.function.name, json.loads(one.function.arguments)) for one in calls],
        STOPS.get(choice.finish_reason, choice.finish_reason),
        usage(
            counts.prompt_tokens,
            counts.completion_tokens,
            counts.prompt_tokens_details.cached_tokens,
            counts.completion_tokens_details.reasoning_tokens,
        ),
    )
    sent = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": one.function.name, "arguments": one.function.arguments},
        }
        for one in calls
    ]
    turn = {"role": "assistant", "content": message.content}
    results = [{"role": "tool", "tool_call_id": one.id, "content": RESULT} for one in calls]
    after = results or [{"role": "user", "content": "Sure?"}]
    return answer, [*history, turn | ({"tool_calls": sent} if sent else {}), *after]


play(connect, begin, ask, lambda error: getattr(error, "status_code", None))
