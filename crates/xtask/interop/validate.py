"""Holds requests against the types of the official SDKs.

Argument: anthropic, openai_chat, openai_responses, gemini or ollama. Input, as JSON on stdin: a list of
{"model": .., "name": .., "body": .., "beyond": [..]}, where `beyond` names the keys, at any depth, that the provider has and the SDK
does not type. Output, as JSON on stdout: a list of {"model": .., "name": .., "problems": [..]}.
"""

import inspect
import json
import sys
import typing
import warnings

# The SDKs write `Iterable` for the lists of a request. Pydantic would check the elements of such a one only when it is
# read, which nobody does; a list is checked at once. This has to stand before the SDKs are loaded.
typing.Iterable = typing.List

import pydantic  # noqa: E402
from typing_extensions import is_typeddict  # noqa: E402

STRICT = pydantic.ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


def without(value, beyond):
    """The value without some keys, wherever they are."""
    if isinstance(value, dict):
        return {key: without(one, beyond) for key, one in value.items() if key not in beyond}
    if isinstance(value, list):
        return [without(one, beyond) for one in value]
    return value


def typed_dicts(package, params):
    """A check against the typed dictionaries of a package, in which unknown keys are mistakes."""
    for name, module in list(sys.modules.items()):
        if module is not None and name.startswith(package):
            for found in list(vars(module).values()):
                if inspect.isclass(found) and is_typeddict(found):
                    found.__pydantic_config__ = STRICT
    adapter = pydantic.TypeAdapter(params)

    def check(body):
        # The SDKs also take objects of their answers, which allow any key; what fits only these fits no request.
        for found in models(adapter.validate_python(body, strict=True)):
            raise ValueError(f"only {type(found).__name__}, of answers, takes {found!r}")

    return check


def models(value):
    if isinstance(value, pydantic.BaseModel):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from models(one)


def anthropic():
    from anthropic.types import message_create_params

    return typed_dicts("anthropic.types", message_create_params.MessageCreateParams)


def openai_chat():
    from openai.types.chat import completion_create_params

    return typed_dicts("openai.types", completion_create_params.CompletionCreateParams)


def openai_responses():
    from openai.types.responses import response_create_params

    return typed_dicts("openai.types", response_create_params.ResponseCreateParams)


def same_again(model, value, given=None):
    """Reads the value, or what the SDK is given for it, and writes it again: what the model does not know, or names
    otherwise, is lost on the way."""
    read = model.model_validate(value if given is None else given)
    written = json.loads(read.model_dump_json(by_alias=True, exclude_unset=True))
    found = list(differences(value, written, "request"))
    if found:
        raise ValueError("; ".join(found[:4]))


def differences(sent, understood, place):
    if isinstance(sent, dict) and isinstance(understood, dict):
        for key in sorted(sent.keys() | understood.keys()):
            yield from differences(sent.get(key), understood.get(key), f"{place}.{key}")
    elif isinstance(sent, list) and isinstance(understood, list) and len(sent) == len(understood):
        for index, (one, other) in enumerate(zip(sent, understood)):
            yield from differences(one, other, f"{place}.{index}")
    elif sent != understood:
        yield f"{place}: {json.dumps(sent)} was understood as {json.dumps(understood)}"


def gemini():
    from google.genai import types

    # A word that an enumeration does not have is only warned of.
    warnings.simplefilter("error")
    fields = {
        "contents": types.Content,
        "systemInstruction": types.Content,
        "tools": types.Tool,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }

    def check(body):
        for name, value in body.items():
            if name not in fields:
                raise ValueError(f"there is no field {name}")
            for one in value if isinstance(value, list) else [value]:
                same_again(fields[name], one)

    return check


def ollama():
    from ollama import _types

    schema = _types.Tool.Function.Parameters

    def keys(model):
        return {field.alias or name for name, field in model.model_fields.items()}

    def typed(parameters):
        """Of the JSON Schema that a server takes, the part that the SDK has types for."""
        known = {key: one for key, one in parameters.items() if key in keys(schema)}
        properties = known.get("properties", {}).items()
        known["properties"] = {
            name: {key: one for key, one in value.items() if key in keys(schema.Property)}
            for name, value in properties
        }
        return known

    def check(body):
        body = json.loads(json.dumps(body))
        for tool in body.get("tools", []):
            tool["function"]["parameters"] = typed(tool["function"]["parameters"])
        same_again(_types.ChatRequest, body)
        # The request takes any mapping for these.
        for message in body["messages"]:
            images = {"images": [{"value": image} for image in message["images"]]} if "images" in message else {}
            same_again(_types.Message, message, message | images)
        same_again(_types.Options, body.get("options", {}))

    return check


def problems(check, body):
    try:
        check(body)
    except pydantic.ValidationError as error:
        # Of a union every member complains. A key too many or too few says more than a word that is another's, and the
        # names of unions are longer than all the rest.
        found = sorted(error.errors(), key=lambda one: (one["type"] == "literal_error", -len(one["loc"])))[:4]
        place = lambda one: ".".join(str(step) for step in one["loc"] if "[" not in str(step))
        return [f"{place(one)}: {one['msg']}" for one in found]
    except (ValueError, TypeError, Warning) as error:
        return [str(error)]
    return []


def main():
    check = {f.__name__: f for f in (anthropic, openai_chat, openai_responses, gemini, ollama)}[sys.argv[1]]()
    results = [
        {
            "model": one["model"],
            "name": one["name"],
            "problems": problems(check, without(one["body"], one["beyond"])),
        }
        for one in json.load(sys.stdin)
    ]
    json.dump(results, sys.stdout)


main()
