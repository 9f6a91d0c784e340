"""What lm-evaluation-harness's own code asks of rows: a line of JSON for each way to ask them.

python reference.py DATASETS: the folder of the dataset files, for the rows beside them.
"""

import functools
import json
import pathlib
import sys

import datasets
import lm_eval.tasks
import lm_eval.utils
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml

from rows import Rows

# The file below the package's tasks, and the dataset file that asks the same.
TASKS = {
    "gsm8k": ("gsm8k/gsm8k.yaml", "lm_eval_gsm8k"),
    "triviaqa": ("triviaqa/default.yaml", "lm_eval_triviaqa"),
    "mmlu_anatomy": ("mmlu/default/mmlu_anatomy.yaml", "lm_eval_mmlu"),
    "mmlu_high_school_us_history": ("mmlu/default/mmlu_high_school_us_history.yaml", "lm_eval_mmlu"),
    "arc_easy": ("arc/arc_easy.yaml", "lm_eval_arc"),
    "arc_challenge": ("arc/arc_challenge.yaml", "lm_eval_arc"),
    "hellaswag": ("hellaswag/hellaswag.yaml", "lm_eval_hellaswag"),
}
LAYOUTS = {"text": (False, False), "chat": (True, False), "turns": (True, True)}
# Keys of tasks that these five leave as they are.
OTHERS = [
    {},
    {"gen_prefix": "The answer is"},
    {"gen_prefix": "So:\n"},
    {"target_delimiter": "", "fewshot_delimiter": "\n---\n"},
    {"target_delimiter": "\n", "gen_prefix": " So,", "description": "Be brief.\n"},
]
SEED = 1234


# It compiles the same few templates for each row.
lm_eval.utils.env.from_string = functools.cache(lm_eval.utils.env.from_string)


def task_of(name, train, rows, others):
    """The task of its own file, with these rows for a data set."""
    file = pathlib.Path(lm_eval.tasks.__file__).parent / TASKS[name][0]
    config = dict(load_yaml(file, resolve_func=True))
    splits = {}
    for split, rows in (("training_split", train), ("validation_split", rows), ("test_split", rows)):
        if config.get(split):
            splits[config[split]] = rows
    splits.setdefault(config.get("fewshot_split"), train)
    splits.pop(None, None)
    tables = datasets.DatasetDict({split: datasets.Dataset.from_list(rows) for split, rows in splits.items()})
    config.update(others, custom_dataset=lambda **_: tables)
    return ConfigurableTask(config=config)


def chat_template(messages, add_generation_prompt):
    return json.dumps([messages, add_generation_prompt])


def asked(task, layout, num_fewshot):
    """What each row is asked."""
    is_chat, is_multiturn = LAYOUTS[layout]
    task.set_config("num_fewshot", num_fewshot)
    task.set_fewshot_seed(SEED)
    task.build_all_requests(apply_chat_template=is_chat, fewshot_as_multiturn=is_multiturn, chat_template=chat_template)
    made = {}
    for instance in task.instances:
        context, continuation = instance.args[0], instance.args[1]
        context = json.loads(context) if is_chat else [context, True]
        made.setdefault(instance.doc_id, []).append([*context, continuation])
    return list(made.values())


def lines(name, source, train, rows, counts, others):
    for other in others:
        task = task_of(name, train, rows, other)
        for num_fewshot in counts:
            for layout in LAYOUTS:
                yield {
                    "task": name,
                    "dataset": TASKS[name][1],
                    "source": source,
                    "layout": layout,
                    "num_fewshot": num_fewshot,
                    "others": other,
                    "made": asked(task, layout, num_fewshot),
                }


def main(folder):
    for name, (_, dataset) in TASKS.items():
        demo = [json.loads(line) for line in open(pathlib.Path(folder, dataset + ".jsonl"))]
        if name.startswith("mmlu"):
            demo = [row | {"subject": name.removeprefix("mmlu_")} for row in demo]
        print(json.dumps({"rows": {"source": f"{name} demo", "train": demo, "rows": demo}}))
        for line in lines(name, f"{name} demo", demo, demo, [0, 1, len(demo) - 1], OTHERS[:1]):
            print(json.dumps({"asked": line}))
        for number, size in enumerate([8, 30, 100]):
            source, rows = f"{name} {size}", Rows(name, number)
            train, test = rows.list(size), rows.list(6)
            # Of these some are examples too.
            test += train[:4]
            print(json.dumps({"rows": {"source": source, "train": train, "rows": test}}))
            for line in lines(name, source, train, test, [0, 1, 5], OTHERS[:1]):
                print(json.dumps({"asked": line}))
            if size == 30:
                for line in lines(name, source, train, test, [0, 2], OTHERS[1:]):
                    print(json.dumps({"asked": line}))


main(sys.argv[1])
