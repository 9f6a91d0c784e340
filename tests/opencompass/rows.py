"""Rows for a dataset dict: a column for all that its templates and its reader name, with values of many kinds."""

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
        inputs = inputs.split() if isinstance(inputs, str) else inputs
        templates = [infer.get("ice_template"), infer.get("prompt_template")]
        fields = [field for text in texts(templates) for field in FIELD.findall(text)]
        self.output = reader.get("output_column") or None
        self.labels = labels_of(infer)
        self.messages = set(expanded(templates))
        self.is_chat = class_of(infer, "inferencer") == "ChatInferencer"
        # The turns that the model is asked for are empty.
        self.is_multiround = dict_of(infer, "inferencer").get("multiround")
        extra = {"LLInferencer": ["cont"], "CLPInferencer": ["choices"]}.get(class_of(infer, "inferencer"), [])
        names = [*inputs, self.output, *fields, *sorted(self.messages), *extra]
        self.columns = list(dict.fromkeys(name for name in names if isinstance(name, str)))
        self.inputs = inputs

    def row(self, number):
        return {column: self.value(column, i, number) for i, column in enumerate(self.columns)}

    def value(self, column, position, number):
        if column in self.messages or (self.is_chat and column in self.inputs):
            roles = ("user", "assistant")
            said = ["" if self.is_multiround and i % 2 else text for i, text in enumerate(DIALOGUE[: 2 + number % 3])]
            return [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]
        if column == "choices":
            return ["A", "B"]
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


def labels_of(infer):
    for name in ("prompt_template", "ice_template"):
        template = dict_of(infer, name).get("template")
        if isinstance(template, dict) and set(template) - {"begin", "round", "end"}:
            return list(template)
    return dict_of(infer, "inferencer").get("labels")
