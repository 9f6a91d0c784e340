"""Rows for the tasks, with texts that try what a template could take for its own."""

import random

TEXTS = [
    "What is {question}?",
    'It\'s "quoted" \\n and \'so\'',
    "ünï – 你好 🚀 ǅ",
    "",
    "  two spaces lead",
    "two spaces end  ",
    "one\nline, and\n\nanother",
    "[header] How to [title] do [step] it  twice",
    "{{ question }} {% if x %} {A} {choices[0]} {}",
    "12",
    "<|im_end|> </E> Answer:",
    "\tA tab\u00a0and more\u3000",
    "Plain words that say something.",
    "ALL CAPITALS, ΟΔΟΣ",
]


class Rows:
    """Rows of a task, one unlike the other."""

    def __init__(self, task, seed):
        self.make = getattr(self, task.split("_")[0])
        self.task, self.random, self.number = task, random.Random(seed), 0

    def list(self, count):
        return [self.next() for _ in range(count)]

    def next(self):
        self.number += 1
        return self.make()

    def text(self):
        return self.random.choice(TEXTS)

    def said(self):
        """A text that is not empty, and unlike others."""
        return f"{self.text()}{self.random.randrange(10**6)}"

    def gsm8k(self):
        answer = "" if self.number % 7 == 3 else self.said()
        return {"question": f"{self.text()} {self.number}", "answer": answer}

    def triviaqa(self):
        aliases = [self.said() for _ in range(self.random.randint(1, 4))]
        return {"question": self.said(), "answer": {"aliases": aliases, "value": self.text()}}

    def mmlu(self):
        choices = [self.text() for _ in range(4)]
        subject = self.task.removeprefix("mmlu_")
        return {"question": self.said(), "subject": subject, "choices": choices, "answer": self.random.randrange(4)}

    def arc(self):
        count = self.random.randint(3, 6)
        labels = list("ABCDEF" if self.number % 2 else "123456")[:count]
        choices = {"text": [self.said() for _ in range(count)], "label": labels}
        return {"id": f"row {self.number}", "question": self.said(), "choices": choices, "answerKey": self.random.choice(labels)}

    def hellaswag(self):
        count = self.random.randint(2, 5)
        return {
            "ind": self.number,
            "activity_label": self.text(),
            "ctx_a": self.said(),
            "ctx_b": self.text(),
            "endings": [self.said() for _ in range(count)],
            "label": str(self.random.randrange(count)),
        }
