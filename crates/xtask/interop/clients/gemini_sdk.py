"""The official Google Gen AI SDK as a client of a server that speaks Gemini's format."""

from google import genai
from google.genai import types

from play import QUESTION, RESULT, SYSTEM, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA, call, play, told, usage

MODEL = "gemini-3.8-flash"
STOPS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}


def connect(url, key):
    options = types.HttpOptions(
        base_url=url.removesuffix("/v1beta"),
        api_version="v1beta",
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key=key, http_options=options)


def begin():
    return [types.UserContent(parts=[types.Part(text=QUESTION)])]


def ask(client, history, streamed):
    declared = types.FunctionDeclaration(
        name=TOOL, description=TOOL_DESCRIPTION, parameters_json_schema=TOOL_SCHEMA
    )
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM,
        max_output_tokens=4096,
        tools=[types.Tool(function_declarations=[declared])],
        thinking_config=types.ThinkingConfig(include_thoughts=True),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    request = {"model": MODEL, "contents": history, "config": config}
    if streamed:
        responses = list(client.models.generate_content_stream(**request))
    else:
        responses = [client.models.generate_content(**request)]
    parts = [part for response in responses for part in (response.candidates[0].content.parts or [])]
    functions = [part.function_call for part in parts if part.function_call]
    finish = responses[-1].candidates[0].finish_reason.value
    counts = responses[-1].usage_metadata
    thinking = counts.thoughts_token_count or 0
    answer = told(
        "".join(part.text or "" for part in parts if part.thought),
        "".join(part.text or "" for part in parts if not part.thought),
        [call(one.id, one.name, one.args) for one in functions],
        "tool_use" if finish == "STOP" and functions else STOPS.get(finish, finish),
        usage(
            counts.prompt_token_count,
            (counts.candidates_token_count or 0) + thinking,
            counts.cached_content_token_count,
            thinking,
        ),
    )
    results = [
        types.Part(
            function_response=types.FunctionResponse(id=one.id, name=one.name, response={"output": RESULT})
        )
        for one in functions
    ]
    after = types.UserContent(parts=results or [types.Part(text="Sure?")])
    return answer, [*history, types.ModelContent(parts=parts), after]


play(connect, begin, ask, lambda error: getattr(error, "code", None))
