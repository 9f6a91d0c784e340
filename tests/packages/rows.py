"""Rows for a dataset dict: a column for all that its templates and its reader name, with values of many kinds."""

import json
import re

FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
DIALOGUE = ["First, {idx}?", "The first answer.", "And \n then?", "The second."]


def within(value):
    """A value and all that is in it."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from within(one)


def texts(value):
    return (one for one in within(value) if isinstance(one, str))


def expanded(value):
    """The columns that list messages."""
    return (one["expand_column"] for one in within(value) if isinstance(one, dict) and "expand_column" in one)


def bare(name):
    return str(name).rsplit(".", 1)[-1]


def dict_of(config, part):
    """A part of a configuration; nothing where it is no dict, such as a tuple that a comma made."""
    value = config.get(part)
    return value if isinstance(value, dict) else {}


def class_of(config, part):
    return bare(dict_of(config, part).get("type"))


class Rows:
    """Rows with a column for all that the templates and the reader name."""

    def __init__(self, dataset):
        infer, reader = dataset["infer_cfg"], dict_of(dataset, "reader_cfg")
        inputs = reader.get("input_columns") or []
        self.inputs = inputs.split() if isinstance(inputs, str) else inputs
        templates = [infer.get("ice_template"), infer.get("prompt_template")]
        fields = [field for text in texts(templates) for field in FIELD.findall(text)]
        self.output = reader.get("output_column") or None
        self.labels = labels_of(infer)
        self.messages = set(expanded(templates))
        self.kind = class_of(infer, "inferencer")
        self.has_turns = class_of(infer, "prompt_template") == "MultiTurnPromptTemplate"
        self.fragments = kinds_of_fragments(templates)
        # The turns that the model is asked for are empty.
        self.is_multiround = dict_of(infer, "inferencer").get("multiround")
        extra = {"LLInferencer": ["cont"], "CLPInferencer": ["choices"]}.get(self.kind, [])
        content = ["content"] if self.fragments else []
        names = [*self.inputs, self.output, *fields, *sorted(self.messages), *extra, *content]
        self.columns = list(dict.fromkeys(name for name in names if isinstance(name, str)))

    def row(self, number):
        if self.kind == "BFCLV3FunctionCallInferencer":
            return functions(self.columns, number)
        return {column: self.value(column, i, number) for i, column in enumerate(self.columns)}

    def value(self, column, position, number):
        if self.kind == "ChatInferencer" and column in [*self.inputs, self.output]:
            return self.said(column, number)
        if column in self.messages:
            return messages(2 + number % 3, self.is_multiround)
        if column == "content" and self.fragments:
            return fragments(self.fragments, number)
        if column in ("question", "answer") and self.has_turns:
            # Of the lists the shorter counts.
            return [f"{column} {turn} of {{answer}}" for turn in range(number + 1 + (column == "answer" and number % 2))]
        if column == "choices":
            return ["A", "B"]
        if column == "max_out_len":
            return 5 + number
        if column == self.output and self.labels:
            return self.labels[number % len(self.labels)]
        # Texts with line ends and with what looks like another column, and what is no text.
        other = self.columns[(position + 1) % len(self.columns)]
        values = [
            f"{column} {number}",
            f" the {column}\n\nhas {{{other}}} and «{number}» ",
            number + position,
            0.5 * position,
            None,
            [f"{column}'s", number, True],
        ]
        return values[0] if number == 0 else values[(position + number) % len(values)]

    def said(self, column, number):
        """A column of a chat: all are texts, all list texts, or one lists messages."""
        is_chat = column == "dialogue" or [column] == self.inputs
        if number % 3 == 0 and (is_chat or "dialogue" in self.inputs):
            return messages(len(DIALOGUE), False) if is_chat else f"{column} {number}"
        said = [f"{column} {turn} of {{{self.columns[0]}}}" for turn in range(1 + number % 3)]
        return said if number % 3 == 2 else said[0]


def messages(count, are_empty):
    """What user and assistant say in turn; the latter nothing, where that is asked for."""
    roles = ("user", "assistant")
    said = ["" if are_empty and i % 2 else text for i, text in enumerate(DIALOGUE[:count])]
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]


def kinds_of_fragments(templates):
    """The kinds of fragments that AISBench's multimodal templates have patterns for."""
    patterns = [one["prompt_mm"] for one in within(templates) if isinstance(one, dict) and "prompt_mm" in one]
    return [kind for pattern in patterns for kind in pattern]


def fragments(kinds, number):
    """A content of tagged fragments, kinds in another order and more than once; the last tag need not be closed."""
    kinds = kinds[::-1] if number % 2 else kinds
    said = [f"<AIS_{kind.upper()}_START>{kind} {i} of {{question}}\n" for i, kind in enumerate(kinds * (number + 1))]
    return "<AIS_CONTENT_TAG>".join(said) + ("" if number % 3 == 2 else "<AIS_CONTENT_TAG>")


def functions(columns, number):
    """A row of BFCL, as its loader makes them, and with what bfcl_eval makes of `function`."""
    function = {"name": "add", "description": "Adds.", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}}}
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tool = {"type": "function", "function": {**function, "parameters": parameters}}
    count = 1 + number % 3 if "initial_config" in columns else 1
    turns = [messages(1 + 2 * (number % 2), False) for _ in range(count)]
    made = {column: "{}" for column in columns}
    kind = "multi_turn_base" if "initial_config" in columns else "simple"
    return {**made, "id": f"{kind}_{number}", "question": json.dumps(turns), "function": json.dumps([function]), "tools": [tool]}


def labels_of(infer):
    for name in ("prompt_template", "ice_template"):
        template = dict_of(infer, name).get("template")
        if isinstance(template, dict) and set(template) - {"begin", "round", "end"}:
            return list(template)
    return dict_of(infer, "inferencer").get("labels")
