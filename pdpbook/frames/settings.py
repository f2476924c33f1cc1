"""Settings of a mechanism as data: a default and a rule each, and their text written once."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from typing import Any, TypeVar, dataclass_transform

from pdpbook import check

Rule = Callable[[Any, str], Any]  # value and name; raises, in the words of `check`
T = TypeVar("T")


def setting(*, default: Any, rule: Rule | None = None, kw_only: bool = True) -> Any:
    """Declare a parameter of the constructor: its default, and the rule that refuses bad values.

    Parameters
    ----------
    default : object, immutable
    rule : callable, optional
        Called with value and name before any data are touched; it raises.
    kw_only : bool, default True

    Returns
    -------
    dataclasses.Field
    """
    return field(default=default, kw_only=kw_only, metadata={"rule": rule})


def one_of(*choices: str) -> Rule:
    """Rule of a setting that is one of a few words.

    Parameters
    ----------
    *choices : str
    """
    return lambda value, name: check.choice(value, name, choices)


def optional(rule: Rule) -> Rule:
    """Rule of a setting that may be None.

    Parameters
    ----------
    rule : callable
    """
    return lambda value, name: None if value is None else rule(value, name)


def single(rule: Rule) -> Rule:
    """Rule of a setting that is one number, not many."""
    return lambda value, name: check.single(rule(value, name), name)


@dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
def mechanism(cls: type[T]) -> type[T]:
    """Write `__init__` from the settings of a class, and the text of inherited ones into its help.

    Parameters
    ----------
    cls : type
        Its docstring describes its own settings, and inherited ones where they mean more here.
    """
    made = dataclass(eq=False, repr=False)(cls)
    made.__doc__ = _with_inherited_text(made)
    return made


def check_settings(estimator: Any) -> None:
    """Refuse values that break the rule of their setting."""
    for each in fields(estimator):
        if (rule := each.metadata["rule"]) is not None:
            rule(getattr(estimator, each.name), each.name)


def _with_inherited_text(cls: type) -> str:
    """The docstring of a class, with what its bases say of settings and attributes."""
    docs = [cleandoc(base.__doc__ or "") for base in cls.__mro__[:-1]]
    doc, written = docs[0], ""
    settings = [each.name for each in fields(cls)]
    for section in ("Parameters", "Attributes"):
        text: dict[str, str] = {}
        for base in reversed(docs):  # the class itself comes last, and wins
            text |= _entries(base, section)
        own = [name for name in _entries(docs[0], section) if name not in settings]  # of a frame
        names = settings + own if section == "Parameters" else list(text)
        body = "\n".join(text[name] for name in names if name in text)  # none with -OO
        written += f"\n\n{section}\n{'-' * len(section)}\n{body}"
        doc = _section(section).sub("", doc)
    return re.sub(r"(?=\n\n(Raises|Warns|Notes|Examples)\n|\Z)", lambda _: written, doc, count=1)


def _section(name: str) -> re.Pattern[str]:
    return re.compile(rf"\n\n{name}\n-{{3,}}\n(.*?)(?=\n\n\w+\n-{{3,}}\n|\Z)", re.S)


def _entries(doc: str, section: str) -> dict[str, str]:
    """Entries of a section by name, each with its indented text."""
    found = _section(section).search(doc)
    parts = re.split(r"^(?=\w+ : )", found[1], flags=re.M) if found else []
    return {part.partition(" : ")[0]: part.rstrip() for part in parts if part.strip()}
