#!/usr/bin/env python3
"""What transformers' apply_chat_template(tokenize=False) gives, with jinja2 alone: requests in, texts out, as JSON lines.

    python3 -m venv peers
    peers/bin/pip install jinja2==3.1.6
    peers/bin/python tests/peers/chat_template.py < requests.jsonl

The first line out is {"ready": jinja2's version}. A request is

    {"template": "{{ messages[0].content }}", "context": {"messages": [{"role": "user", "content": "Hi"}], "tools": null,
     "documents": null, "add_generation_prompt": true, "bos_token": "<s>"}, "continue_final_message": false,
     "now": "2026-01-31T12:00:00"}

Its answer is {"text": ...} or {"error": "TYPE: message"}. What else the context has are variables of the template.
`continue_final_message` may name the field to continue. Without `now`, strftime_now reads the clock.

As in transformers 5.23.0: `apply_chat_template`, `render_jinja_template` and `_cached_compile_jinja_template`."""

import datetime
import functools
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox
import jinja2.utils

CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG "
REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


class Clock:
    """The time that templates see: a request's, or the real one."""

    fixed = None

    @classmethod
    def strftime_now(cls, format):
        return (cls.fixed or datetime.datetime.now()).strftime(format)


class Generation(jinja2.ext.Extension):
    """{% generation %} writes what is in it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_write"), [], [], body).set_lineno(line)

    def _write(self, caller):
        return caller()


class Dict:
    """Python's dict, of which a template may call only this."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


class Namespace(jinja2.utils.Namespace):
    """jinja2's namespace, without names that begin with an underscore."""

    def __init__(*args, **kwargs):  # As jinja2 has it: namespace(self=1) is a template's right.
        self, args = args[0], args[1:]
        values = dict(*args, **kwargs)
        for name in values:
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(self, values)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(
                f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}. "
                "Please rename the attribute."
            )


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@functools.cache
def compiled(template):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = Clock.strftime_now
    environment.globals["dict"] = Dict()
    environment.globals["namespace"] = Namespace
    return environment.from_string(template)


def without_nulls(message):
    return {key: value for key, value in message.items() if value is not None}


def with_reasoning(message):
    """A message whose reasoning has each name that templates read."""
    reasoning = next((message[key] for key in REASONING_FIELDS if message.get(key) is not None), None)
    return message if reasoning is None else {"thinking": reasoning, **message, "reasoning_content": reasoning}


def tag_text_part(parts):
    """Tags the last text of a message's parts and gives that text."""
    for part in reversed(parts):
        if "text" in part:
            text = part["text"]
            part["text"] = text + CONTINUE_TAG
            return text
    raise ValueError("continue_final_message is set but we could not find any text to continue in the final message!")


def tag_last(message, field, template):
    """Tags where the last message's field ends and gives its text."""
    text = message.get(field)
    if text is None:
        raise ValueError(f'continue_final_message is set but the final message has no "{field}" to continue!')
    fields = [field]
    if field in REASONING_FIELDS:
        fields = [other for other in REASONING_FIELDS if message.get(other) == text]
    if not any(field in template for field in fields):
        raise ValueError(f'continue_final_message is set to "{field}" but this is not an accepted field in the chat_template')
    if isinstance(text, (list, tuple)):
        return tag_text_part(text)
    for field in fields:
        message[field] = message[field] + CONTINUE_TAG
    return text


def cut_at_tag(rendered, text):
    """The rendered text up to the tag, without the blanks that the template trimmed off the message."""
    tag = CONTINUE_TAG.strip()
    if text.strip() not in rendered or tag not in rendered:
        raise ValueError(
            "continue_final_message is set but the final message does not appear in the chat after applying the chat template!"
        )
    at = rendered.rindex(tag)
    keeps_blanks = rendered.startswith(CONTINUE_TAG, at)
    return rendered[:at] if keeps_blanks else rendered[:at].rstrip()


def check_inputs(tools, documents):
    if any(not isinstance(tool, dict) for tool in tools or []):
        raise ValueError("Tools should either be a JSON schema, or a callable function.")
    if any(not isinstance(document, dict) for document in documents or []):
        raise TypeError("Documents should be a list of dicts with 'title' and 'text' keys!")


def apply_chat_template(template, messages, tools=None, documents=None, add_generation_prompt=False, continue_final_message=False, **variables):
    if not messages:
        raise ValueError("Cannot apply chat template to an empty conversation. Provide at least one message.")
    if continue_final_message and add_generation_prompt:
        raise ValueError("continue_final_message and add_generation_prompt are not compatible.")
    messages = [with_reasoning(without_nulls(message)) for message in messages]
    check_inputs(tools, documents)
    page = compiled(template)
    if continue_final_message:
        field = continue_final_message if isinstance(continue_final_message, str) else "content"
        text = tag_last(messages[-1], field, template)
    rendered = page.render(
        messages=messages, tools=tools, documents=documents, add_generation_prompt=add_generation_prompt, **variables
    )
    return cut_at_tag(rendered, text) if continue_final_message else rendered


def answer(request):
    now = request.get("now")
    try:
        Clock.fixed = datetime.datetime.fromisoformat(now) if now else None
        how = {"continue_final_message": request.get("continue_final_message", False), **request["context"]}
        return {"text": apply_chat_template(request["template"], **how)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    print(json.dumps({"ready": jinja2.__version__}), flush=True)
    for line in sys.stdin.buffer:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
