"""Plays the steps that the interop command sends, and prints what an SDK made of each answer.

Input, as JSON on stdin: {"url": .., "key": .., "steps": [{"streamed": bool, "key": "wrong"?, "follows": bool}]}.
A step that follows goes on from the previous answer, whose calls it answers in the SDK's own types.
Output, as JSON on stdout: for each step what was told, or the exception and its status.
"""

import json
import sys

QUESTION = "Is Oslo colder than Rome?"
SYSTEM = "Be brief."
TOOL = "weather"
TOOL_DESCRIPTION = "The weather in a city."
TOOL_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": True,
}
RESULT = "-5 degrees"


def told(thinking, text, calls, stop, usage):
    """What was said, in words that are the same for every provider."""
    return {"thinking": thinking, "text": text, "calls": calls, "stop": stop, "usage": usage}


def call(id, name, args):
    return {"id": id, "name": name, "args": args}


def usage(input, output, cached=0, thinking=0):
    return {"input": input, "output": output, "cached": cached or 0, "thinking": thinking or 0}


def play(connect, begin, ask, status):
    """`connect(url, key)` makes a client, `begin()` a history, `ask(client, history, streamed)` a told answer and the
    history that follows from it, `status(error)` the status of an exception or None."""
    script = json.load(sys.stdin)
    results = []
    after = begin()
    for step in script["steps"]:
        client = connect(script["url"], step.get("key", script["key"]))
        history = after if step.get("follows") else begin()
        try:
            answer, after = ask(client, history, step["streamed"])
            results.append(answer)
        except Exception as error:  # whatever the SDK raises is the result
            code = status(error)
            detail = None if code else f"{error}"
            results.append({"error": {"class": type(error).__name__, "status": code, "detail": detail}})
    json.dump(results, sys.stdout)
