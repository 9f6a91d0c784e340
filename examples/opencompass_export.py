#!/usr/bin/env python3
"""Writes the datasets and models of OpenCompass's and AISBench's configurations as files that metatok reads.

    pip install --no-deps opencompass          # its configurations alone are enough; or ais_bench_benchmark
    python opencompass_export.py --out exported CONFIG.py...

Each dataset becomes exported/datasets/ABBR.json, each model exported/models/ABBR.json:

    metatok build -m exported/models/ABBR.json -d exported/datasets/ABBR.json rows.jsonl

Configurations are run as Python runs them, but nothing of the package is imported: its classes are names. Rows are
not exported, because datasets make them in code (`load()`).
"""

import argparse
import contextlib
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import pathlib
import re
import sys
import types

CONFIGS = ("ais_bench.benchmark.configs", "opencompass.configs")
PACKAGES = ("ais_bench", "datasets", "mmengine", "opencompass", "torch", "transformers")


class Dict(dict):
    """A dict of a configuration, with the ways of mmengine's ConfigDict."""

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    def deepcopy(self):
        return copy.deepcopy(self)


def with_ways(value):
    if type(value) is dict:
        return Dict({key: with_ways(one) for key, one in value.items()})
    if type(value) is list:
        return [with_ways(one) for one in value]
    return value


class ConfigLoader(importlib.machinery.SourceFileLoader):
    """Runs a configuration."""

    def exec_module(self, module):
        super().exec_module(module)
        # As others that import it get it.
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                setattr(module, name, with_ways(value))


def config_spec(name, file):
    return importlib.util.spec_from_file_location(name, file, loader=ConfigLoader(name, str(file)))


class Name(type):
    """A class of which only the name is known."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return named(f"{cls.__module__}.{cls.__qualname__}", name)


def named(module, name):
    return Name(name, (), {"__module__": module, "__init__": lambda self, *args, **kwargs: None})


class Module(types.ModuleType):
    """A module of which every name is a class."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = contextlib.nullcontext if name == "read_base" else named(self.__name__, name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds configurations as files below `root`, and for all else of the packages a module of names."""

    def __init__(self, root):
        self.root = root

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in PACKAGES:
            return None
        file = self.root.joinpath(*name.split("."))
        if name.startswith(CONFIGS):
            if file.is_dir():
                spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = [str(file)]
                return spec
            if file.with_suffix(".py").is_file():
                return config_spec(name, file.with_suffix(".py"))
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


def package_root():
    """The folder that holds the installed package `opencompass` or `ais_bench`."""
    for spec in map(importlib.util.find_spec, ("opencompass", "ais_bench")):
        if spec is not None and spec.origin is not None:
            return pathlib.Path(spec.origin).parent.parent
    sys.exit(
        "there is neither opencompass nor ais_bench here; pip install --no-deps opencompass (or ais_bench_benchmark), or"
        " name its folder with --root"
    )


def load(path, root):
    """The variables of a configuration, which stands in a package below `root` or anywhere else."""
    path, root = pathlib.Path(path).resolve(), pathlib.Path(root).resolve()
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(root))
    if path.is_relative_to(root):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        return vars(importlib.import_module(name))
    sys.path.insert(0, str(path.parent))
    spec = config_spec(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def plain(value):
    """A value as JSON has it, classes by their names."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, range)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return f"{type(value).__module__}.{type(value).__qualname__}"


def dicts(variables, kind):
    """The dicts in the list of this name, which OpenCompass runs, or in those whose names end so, each once."""
    seen, found = set(), []
    if kind in variables:
        lists = [variables[kind]]
    else:
        lists = [value for name, value in variables.items() if name.endswith(kind)]
    while lists:
        value = lists.pop(0)
        if isinstance(value, (list, tuple)):
            lists = list(value) + lists
        elif isinstance(value, dict) and id(value) not in seen:
            seen.add(id(value))
            found.append(plain(value))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="+", metavar="CONFIG.py")
    parser.add_argument("--out", default="exported", help="the folder to write (exported)")
    parser.add_argument("--root", help="the folder that holds the folder opencompass or ais_bench, where it is not installed")
    args = parser.parse_args()
    root = args.root or package_root()
    written = set()
    for config in args.configs:
        variables = load(config, root)
        found = {kind: dicts(variables, kind) for kind in ("datasets", "models")}
        if not any(found.values()):
            sys.exit(f"{config}: it has no datasets and no models")
        for kind, those in found.items():
            for one in those:
                name = re.sub(r"[^\w.-]+", "_", str(one.get("abbr") or pathlib.Path(config).stem))
                path = pathlib.Path(args.out, kind, name + ".json")
                if path in written:
                    sys.exit(f"{config}: {path} is written already; two of them have the abbr {name!r}")
                written.add(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(one, ensure_ascii=False, indent=1), encoding="utf-8")
                print(path)


if __name__ == "__main__":
    main()
