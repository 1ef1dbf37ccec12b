"""The official Ollama SDK as a client of a server that speaks its format."""

import ollama

from play import QUESTION, RESULT, SYSTEM, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA, call, play, told, usage

STOPS = {"stop": "end_turn", "length": "max_tokens"}


def connect(url, key):
    return ollama.Client(host=url)


def begin():
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]


def ask(client, history, streamed):
    function = {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": TOOL_SCHEMA}
    request = {
        "model": "qwen3:8b",
        "messages": history,
        "tools": [{"type": "function", "function": function}],
        "think": True,
        "options": {"num_predict": 4096},
    }
    answers = list(client.chat(**request, stream=True)) if streamed else [client.chat(**request)]
    last = answers[-1]
    thinking = "".join(one.message.thinking or "" for one in answers)
    text = "".join(one.message.content or "" for one in answers)
    calls = [one for answer in answers for one in (answer.message.tool_calls or [])]
    finish = STOPS.get(last.done_reason, last.done_reason)
    answer = told(
        thinking,
        text,
        [call("", one.function.name, dict(one.function.arguments)) for one in calls],
        "tool_use" if finish == "end_turn" and calls else finish,
        usage(last.prompt_eval_count, last.eval_count),
    )
    turn = ollama.Message(role="assistant", content=text, thinking=thinking or None, tool_calls=calls or None)
    results = [{"role": "tool", "tool_name": one.function.name, "content": RESULT} for one in calls]
    return answer, [*history, turn, *(results or [{"role": "user", "content": "Sure?"}])]


play(connect, begin, ask, lambda error: getattr(error, "status_code", None))
