"""The classes of a package, loaded from its files one by one: what they import beside each other is stubbed."""

import importlib.util
import sys
import types


def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Stub(types.ModuleType):
    """A module of which every name is a decorator of anything."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class Anything:
    """Takes everything, does nothing."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    @staticmethod
    def register_module(*args, **kwargs):
        return lambda one: one


def is_list_of(value, kind):
    """mmengine's, which tells a row's columns apart."""
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def stub(names, **functions):
    """Stubs modules; these functions of theirs are real."""
    for name in names.split():
        sys.modules[name] = Stub(name)
        vars(sys.modules[name]).update(functions)


def real_classes(folder, files):
    """What these modules of the package define."""
    found = {}
    for name, file in files.items():
        module = load(name, folder / file)
        found.update({key: value for key, value in vars(module).items() if not key.startswith("__")})
    return types.SimpleNamespace(**found)
