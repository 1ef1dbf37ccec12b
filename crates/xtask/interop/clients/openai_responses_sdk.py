"""The official OpenAI SDK as a client of a server that speaks the Responses API."""

import json

import openai

from play import QUESTION, RESULT, SYSTEM, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA, call, play, told, usage


def connect(url, key):
    return openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0, _strict_response_validation=True)


def begin():
    return [{"role": "user", "content": QUESTION}]


def stop(response, calls):
    if response.status == "completed":
        return "tool_use" if calls else "end_turn"
    reasons = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
    reason = response.incomplete_details.reason if response.incomplete_details else None
    return reasons.get(reason, response.status)


def ask(client, history, streamed):
    request = {
        "model": "gpt-6.1-sol",
        "instructions": SYSTEM,
        "max_output_tokens": 4096,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [
            {
                "type": "function",
                "name": TOOL,
                "description": TOOL_DESCRIPTION,
                "parameters": TOOL_SCHEMA,
                "strict": False,
            }
        ],
        "input": history,
    }
    deltas = {"response.output_text.delta": "", "response.reasoning_summary_text.delta": ""}
    if streamed:
        response = None
        with client.responses.stream(**request) as stream:
            for event in stream:
                if event.type in deltas:
                    deltas[event.type] += event.delta
                if event.type in ("response.completed", "response.incomplete"):
                    response = event.response
    else:
        response = client.responses.create(**request)
    thoughts = [item for item in response.output if item.type == "reasoning"]
    calls = [item for item in response.output if item.type == "function_call"]
    thinking = "\n\n".join(part.text for item in thoughts for part in item.summary)
    text = response.output_text
    if streamed and (text, thinking) != tuple(deltas.values()):
        raise ValueError(f"the pieces {deltas} are not the whole {[text, thinking]}")
    counts = response.usage
    answer = told(
        thinking,
        text,
        [call(one.call_id, one.name, json.loads(one.arguments)) for one in calls],
        stop(response, calls),
        usage(
            counts.input_tokens,
            counts.output_tokens,
            counts.input_tokens_details.cached_tokens,
            counts.output_tokens_details.reasoning_tokens,
        ),
    )
    # The SDK's own helpers add fields that are not of the wire.
    beyond = {"parsed", "parsed_arguments"}
    sent = [item.model_dump(exclude_none=True, mode="json", exclude=beyond) for item in response.output]
    for item in sent:
        for part in item.get("content", []):
            part.pop("parsed", None)
    results = [{"type": "function_call_output", "call_id": one.call_id, "output": RESULT} for one in calls]
    return answer, [*history, *sent, *(results or [{"role": "user", "content": "Sure?"}])]


play(connect, begin, ask, lambda error: getattr(error, "status_code", None))
