# SPDX-License-Identifier: GPL-2.0-only
"""What `margay --json` says, judged by the schema that margay-tools ships (tools/client/margay.schema.json), by python3-jsonschema:
that of models, and of real nodes."""

import copy
import json
import os
import re

import jsonschema

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(TOP, "tools", "client", "margay.schema.json"), encoding="ascii") as schema_file:
    SCHEMA = json.load(schema_file)


def strict(part):
    """The same schema where no object has a name that it does not know."""
    part = copy.deepcopy(part)
    todo = [part]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            if "properties" in one and isinstance(one["properties"], dict) and "object" in one.get("type", ""):
                one["additionalProperties"] = False
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
    return part


STRICT = strict(SCHEMA)


def judge_value(value, shape=None):
    """Is it of this shape, or of any?"""
    wanted = {**STRICT, "anyOf": [{"$ref": "#/definitions/" + shape}]} if shape else STRICT
    jsonschema.Draft7Validator(wanted).validate(value)
    jsonschema.Draft7Validator(SCHEMA).validate(value)
    return value


def judge(text, shape=None):
    """Is it JSON, and nothing behind it?"""
    return judge_value(json.loads(text), shape)


def judge_answers(text):
    """Of what a command has said: if that is JSON, all there is of it. How many answers that were; a log may begin with [, too."""
    decoder, count = json.JSONDecoder(strict=False), 0
    while re.match(r'\{"|\[\{"|\[\](\n|$)', text):
        value, end = decoder.raw_decode(text)
        judge_value(value)
        text, count = text[end:].lstrip("\n"), count + 1
    return count
