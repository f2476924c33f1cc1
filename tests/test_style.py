"""Style that linters do not see: floors of the package, docstrings, comparisons that check nothing.

Rules about source text are functions that return what is wrong; each is also run on a planted
fault.
"""

import ast
import doctest
import importlib
import importlib.metadata
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from house import FLOOR
from numpy.typing import ArrayLike
from pdp_docstrings import exported

import lab
import pdpbook

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pdpbook"

HEAVY = ("cvxpy", "matplotlib", "dp_accounting")

# the printed lines of the package, and why
PRINTS = {"pages": "a check is its printed line, and tells a student that it held"}
# where every exception is caught, and why
CATCHES = {"pages": "whatever a student's code raises is an answer, too"}
# modules whose docstrings are one sentence a function, and why
SHORT = {"pdpbook.check": "one sentence an error, one sentence a check"}

MODULES = sorted(m.name for m in pkgutil.walk_packages(pdpbook.__path__, "pdpbook."))
LAB = sorted(m.name for m in pkgutil.walk_packages(lab.__path__, "lab.") if ".bench" not in m.name)
LAB.remove("lab.comparison.planned_peer")  # runs beside diffprivlib, in an environment of its own
SOURCES = sorted(PACKAGE.rglob("*.py"))
HIDDEN_BUT_OURS = {".ci", ".github"}
SUFFIXES = {".py", ".md", ".ipynb", ".toml", ".yml", ".yaml", ".cff", ".cfg", ".css", ".html"}


def identifier(path):
    return str(path.relative_to(ROOT)) if isinstance(path, Path) else None


def module_of(path):
    """The module of the package a source belongs to: its own, or its folder."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def files():
    """The text files of the repository, without what is built, installed or cached."""
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [
            name
            for name in inside
            if (name[0] != "." or name in HIDDEN_BUT_OURS)
            and name not in {"_build", "htmlcov", "__pycache__"}
            and not name.endswith(".egg-info")
        ]
        yield from (Path(folder) / name for name in names if Path(name).suffix in SUFFIXES)


FILES = sorted(files())


def faulty(faults, things):
    """What is wrong, by file or module: one list in place of a test each."""
    found = {identifier(thing) or thing: faults(thing) for thing in things}
    return {thing: wrong for thing, wrong in found.items() if wrong}


def text_of(path):
    return path.read_text(encoding="utf-8")


# --- text ----------------------------------------------------------------------------------------

MACHINE = re.compile(r"(?<![\w.-])/(work|tmp|home|root|Users)/")
UNFINISHED = re.compile("|".join([r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bX" + r"XX\b"]))


def matches(pattern, text):
    lines = enumerate(text.splitlines(), start=1)
    return [f"line {k}: {line.strip()[:90]}" for k, line in lines if pattern.search(line)]


def test_no_path_of_a_machine():
    assert faulty(lambda path: matches(MACHINE, text_of(path)), FILES) == {}


def test_nothing_unfinished():
    assert faulty(lambda path: matches(UNFINISHED, text_of(path)), FILES) == {}


@pytest.mark.parametrize("folder", ["work", "tmp", "home", "root", "Users"])
def test_planted_paths_are_noticed(folder):
    assert matches(MACHINE, f'x = 1\nopen("/{folder}/someone/data.csv")')
    assert not matches(MACHINE, f"https://a.org/{folder}/page and the {folder}/ folder")


@pytest.mark.parametrize("mark", ["TO" + "DO", "FIX" + "ME"])
def test_planted_marks_are_noticed(mark):
    assert matches(UNFINISHED, f"x = 1  # {mark}: later")
    assert not matches(UNFINISHED, f"{mark.lower()} and {mark}S")


# --- code ----------------------------------------------------------------------------------------

COMPARISONS = {"allclose", "isclose", "array_equal", "array_equiv", "equals", "approx"}


def called(node):
    """The last name of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def idle(source):
    """Comparisons whose answer nobody looks at."""
    return [
        f"line {node.lineno}: {ast.unparse(node)[:80]} checks nothing; put it under assert"
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Expr) and called(node.value) in COMPARISONS)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare))
    ]


def python_of(path):
    if path.suffix == ".py":
        return [path.read_text(encoding="utf-8")]
    cells = nbformat.read(path, as_version=4).cells
    return [re.sub(r"^[%!].*$", "", c.source, flags=re.M) for c in cells if c.cell_type == "code"]


def test_no_comparison_is_idle():
    python = [path for path in FILES if path.suffix in {".py", ".ipynb"}]
    assert faulty(lambda path: [f for code in python_of(path) for f in idle(code)], python) == {}


@pytest.mark.parametrize(
    "source", ["np.allclose(a, b)", "def f():\n    allclose(a, b)", "a == b", "x.equals(y)"]
)
def test_planted_idle_comparisons_are_noticed(source):
    assert idle(source)
    assert not idle("assert np.allclose(a, b)\nok = np.allclose(a, b)\nassert a == b")


def loose(source, *, prints=False, catches=False):
    """Assertions, prints and catch-all exceptions, none of which belong in the package."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            wrong.append(f"line {node.lineno}: assert; raise an error that names the argument")
        elif called(node) == "print" and not prints:
            wrong.append(f"line {node.lineno}: print")
        elif isinstance(node, ast.ExceptHandler):
            names = {n.id for n in ast.walk(node.type or ast.Pass()) if isinstance(n, ast.Name)}
            if node.type is None or (names & {"Exception", "BaseException"} and not catches):
                wrong.append(f"line {node.lineno}: catches every exception")
        elif isinstance(node, ast.Raise) and node.exc is not None:
            kind = called(node.exc) or getattr(node.exc, "id", "")
            if kind in {"Exception", "BaseException"}:
                wrong.append(f"line {node.lineno}: raises a bare {kind}")
    return wrong


def test_the_package_neither_asserts_nor_prints():
    def faults(path):
        module = module_of(path)
        return loose(text_of(path), prints=module in PRINTS, catches=module in CATCHES)

    assert faulty(faults, SOURCES) == {}


@pytest.mark.parametrize(
    "source",
    [
        "assert x",
        "print(x)",
        "raise Exception('no')",
        "raise Exception",
        "try:\n    f()\nexcept:\n    pass",
        "try:\n    f()\nexcept (ValueError, Exception):\n    pass",
    ],
)
def test_planted_loose_code_is_noticed(source):
    assert loose(source)
    assert not loose("try:\n    f()\nexcept ValueError:\n    raise TypeError('x') from None")


# --- names ---------------------------------------------------------------------------------------

#: words that do not say what a thing is: each had several meanings in the package
BANNED = frozenset(
    "heard left few loudness even part each kept crowd everybody own given rules strength".split()
)


def unclear(source):
    """Names that a source defines with a word that does not say what they are."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        name = None
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
        if name is not None and BANNED & set(re.findall("[a-z]+", name.lower())):
            wrong.append(f"line {node.lineno}: {name}")
    return wrong


def test_names_say_what_a_thing_is():
    sources = [path for path in SOURCES if path.name != "minimal.py"]  # as its chapters show it
    assert faulty(lambda path: unclear(text_of(path)), sources) == {}


@pytest.mark.parametrize(
    "source",
    ["left = 1", "def _kept_rows(): pass", "lambda own: own", "x.part = 2", "class Few: 1"],
)
def test_planted_unclear_names_are_noticed(source):
    assert unclear(source)
    assert not unclear(
        "from bisect import bisect_left\nat = bisect_left(parts)\nx.partial = partition = 1"
    )


# --- floors --------------------------------------------------------------------------------------


def imported(source, package="pdpbook"):
    """Modules of the package that a source imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            names = [f"{package}.(relative import)"]
        elif isinstance(node, ast.ImportFrom):
            inside = node.module == package
            names = [f"{package}.{a.name}" for a in node.names] if inside else [node.module or ""]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith(f"{package}.")}
    return found


def climbing(module, source):
    """Imports that do not go down to a lower floor."""
    wrong = []
    for other in sorted(imported(source) - {module, "__version__", "Floats"}):
        if other not in FLOOR:
            wrong.append(f"{module} imports {other}, which has no floor in tests/test_style.py")
        elif FLOOR[other] >= FLOOR[module]:
            wrong.append(f"{module}, floor {FLOOR[module]}, imports {other}, floor {FLOOR[other]}")
    return wrong


def test_imports_go_down():
    sources = [path for path in SOURCES if path != PACKAGE / "__init__.py"]
    assert {module_of(path) for path in sources} <= set(FLOOR), "add it here and to the design"
    assert faulty(lambda path: climbing(module_of(path), text_of(path)), sources) == {}


@pytest.mark.parametrize(
    "source",
    [
        "from pdpbook.personalized import PDPRidge",
        "from pdpbook import audit",
        "import pdpbook.guarantees as g",
        "def f():\n    from pdpbook.sensitivity import norm_bound",
        "from pdpbook.unknown import x",
        "from .noise import x",
    ],
)
def test_planted_climbs_are_noticed(source):
    assert climbing("sensitivity" if "sensitivity" not in source else "noise", source)
    assert not climbing("sensitivity", "from pdpbook.check import x\nfrom pdpbook import noise")


def test_the_lower_floors_import_nothing_heavy():
    """In a process of its own: here pytest has imported them."""
    light = [name for name in MODULES if FLOOR.get(name.split(".")[1], 9) <= 3]
    script = f"import sys, {', '.join(light)}\nprint([m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", ""), f"of {light}"


# scikit-learn, what it needs itself, and no more
NEEDED = {"numpy", "scipy", "sklearn", "cloudpickle", "joblib", "narwhals", "threadpoolctl"}
ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

import numpy as np
from pdpbook import advice
from pdpbook.pages import figures
from pdpbook.gradient import dpsgd_epsilon
from pdpbook.gwa import gwa_program
from pdpbook.guarantees import BudgetAccount
from pdpbook.personalized import PDPRidge
from pdpbook.user_level import WeightedMean

advice.silence()
X, y, users = np.full((9, 2), 0.5), np.zeros(9), np.array(list("aabbbcccc"))
print(PDPRidge().fit(X, y, epsilon=np.ones(9)).predict(X).shape)
print(WeightedMean().fit(X, y, users=users, epsilon={"a": 1, "b": 2, "c": 1}).users_)
account = BudgetAccount({"a": 1.0, "b": 2.0, "c": 1.5}, neighbors="user")
WeightedMean().fit(X, y, users=users, account=account)
print(account.people, account.remaining)
try:
    WeightedMean().fit(X, y, users=np.array([1.0, np.nan, *range(7)]))
except ValueError as error:
    print(error)

def tables():
    from pdpbook.datasets import load

for name, call in {
    "accounting": lambda: dpsgd_epsilon(1.0, 0.1, 10, 1e-5),
    "gwa": lambda: gwa_program(X[:, :1], sigma2=1.0, epsilon=1.0, width=1.0),
    "plots": figures.use,
    "tables": tables,
}.items():
    try:
        call()
    except ImportError as error:
        print(name, f"pip install '.[{name.strip()}]'" in str(error))
"""


def test_a_mechanism_needs_numpy_scipy_and_scikit_learn_alone():
    """Nor does anything else import; whoever wants more is told which extra has it."""
    absent = set(importlib.metadata.packages_distributions()) - NEEDED - {"pdpbook"}
    assert {"pandas", "cvxpy", "dp_accounting", "matplotlib", "dask"} <= absent
    run = subprocess.run(
        [sys.executable, "-c", f"absent = {absent}\n{ALONE}"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "(9,)",
        "['a' 'b' 'c']",
        "('a', 'b', 'c') [0.  1.  0.5]",
        "users must have no missing label; users[1] = nan (1 of 9 are missing)",
        "accounting True",
        "gwa True",
        "plots True",
        "tables True",
    ]


# --- docstrings ----------------------------------------------------------------------------------


def sections(doc):
    """A numpy docstring by its headings; what stands above the first is under ''."""
    parts = re.split(r"^([A-Z]\w[\w ]*)\n-{3,}$", doc, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def described(section):
    """Names a section of parameters describes."""
    heads = re.findall(r"^(\*{0,2}\w[\w*, ]*?)(?: *:.*)?$", section, re.M)
    return {name.strip(" *") for head in heads for name in head.split(",")}


def typed(cls):
    """First lines about properties and fields that napoleon reads as `type: description`."""
    properties = [value for value in vars(cls).values() if isinstance(value, property)]
    lines = [(inspect.getdoc(value) or "").partition("\n")[0] for value in properties]
    lines += re.findall(r"^ +(?:\w+:.*)?#: *(.*)", inspect.getsource(cls), re.M)
    return [line for line in lines if re.search(r"\w: ", line)]


def many(annotation):
    """Whether what is returned has shapes or parts; of one thing the first line says all."""
    written = getattr(annotation, "__name__", str(annotation))
    return not written.isidentifier() or written in {
        "Any",
        "DataFrame",
        "Floats",
        "tuple",
        "dict",
        "list",
    }


ORDER = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "Notes"]
ORDER += ["References", "Examples"]


def undocumented(thing):
    """What the docstring of a public function or class does not say."""
    doc = inspect.getdoc(thing)
    if not doc or (inspect.isclass(thing) and doc.startswith(f"{thing.__name__}(")):
        return ["has no docstring"]
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return []
    parts = sections(doc)
    said = described(parts.get("Parameters", "") + "\n" + parts.get("Attributes", ""))
    if inspect.isclass(thing):  # a field may say what it is beside it, after "#:"
        said |= set(re.findall(r"^ +(\w+):.*#: *\S", inspect.getsource(thing), re.M))
        said |= set(re.findall(r"^ +#: .*\n +(\w+):", inspect.getsource(thing), re.M))
        wrong = [f"says {line!r}: what is before the colon becomes a type" for line in typed(thing)]
    else:
        wrong = []
    signature = inspect.signature(thing)
    takes = [n for n, p in signature.parameters.items() if n != "self" and n[0] != "_"]
    wrong += [f"says nothing of the parameter {name}" for name in takes if name not in said]
    if not inspect.isclass(thing) and "Returns" not in parts:
        said = re.search(r"Returns |Elementwise|[Ss]hape (is|of) ", parts[""])
        if many(signature.return_annotation) and not said:
            wrong.append("has no section Returns")
    found = [name for name in parts if name]
    wrong += [f"has a section {name!r} of no known kind" for name in found if name not in ORDER]
    wrong += [f"has an empty section {name}" for name, text in parts.items() if not text.strip()]
    if found != sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else 99):
        wrong.append(f"has its sections in the order {', '.join(found)}")
    return wrong


def entries(doc):
    """What the docstring says of each parameter after its colon: of what kind, by default what."""
    heads = re.findall(r"^(\w[\w*, ]*?) *: *(.*)$", sections(doc).get("Parameters", ""), re.M)
    return {name.strip(" *"): said for names, said in heads for name in names.split(",")}


def same(written, default, names):
    """Whether a default as it is written, a literal or a name of the module, is that one."""
    try:
        found = ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return written == str(default) or (written in names and names[written] == default)
    return found == default and isinstance(found, bool) == isinstance(default, bool)


def misstated(thing):
    """Parameters whose default the docstring and the signature do not agree on."""
    said, wrong = entries(inspect.getdoc(thing) or ""), []
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return []
    names = vars(sys.modules[thing.__module__])
    for name, parameter in inspect.signature(thing).parameters.items():
        default, words = parameter.default, said.get(name)
        if words is None:  # described together with others, or beside a field
            continue
        stated = re.search(r"(?:^|, )(?:default (.+)|(optional))$", words)
        if default is parameter.empty:
            right = stated is None
        elif stated is None or stated[2]:
            right = stated is not None and default is None
        else:
            right = same(stated[1], default, names)
        if not right:
            what = "no default" if default is parameter.empty else f"the default {default!r}"
            wrong.append(f"{name} has {what} and is said to be {words!r}")
    return wrong


def callables(thing):
    """A function; or a class and its public methods."""
    yield thing
    if inspect.isclass(thing):
        public = (v for k, v in vars(thing).items() if k[0] != "_")
        yield from (v for v in public if inspect.isfunction(v))


def public_things(name):
    module = importlib.import_module(name)
    things = [getattr(module, public) for public in exported(module)]
    return [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]


FOLDERS = [name for name in MODULES if name.count(".") == 1]
FOLDERS += ["lab.chapters", "lab.comparison", "lab.experiments"]


def test_defaults_are_those_of_the_docstring():
    def faults(name):
        calls = [call for thing in public_things(name) for call in callables(thing)]
        return [f"{call.__qualname__}: {fault}" for call in calls for fault in misstated(call)]

    assert faulty(faults, FOLDERS) == {}


def unreadable(call):
    """`help` shows an annotation of arrays evaluated in five lines, as a name in a word."""
    if inspect.isclass(call) and issubclass(call, BaseException):
        return []
    return ["shows arrays evaluated"] if "dtype[" in str(inspect.signature(call)) else []


def test_signatures_are_readable():
    def faults(name):
        calls = [call for thing in public_things(name) for call in callables(thing)]
        return [f"{call.__qualname__} {fault}" for call in calls for fault in unreadable(call)]

    assert faulty(faults, [name for name in FOLDERS if name.startswith("pdpbook.")]) == {}


def test_a_planted_unreadable_signature_is_noticed():
    def planted(X: ArrayLike): ...

    assert unreadable(planted)


def test_public_names_are_documented():
    def faults(name):
        module = importlib.import_module(name)
        wrong = [] if module.__doc__ else ["has no docstring"]
        listed = getattr(module, "__all__", [])
        wrong += [twice for twice in listed if listed.count(twice) > 1]
        for thing in public_things(name):
            found = undocumented(thing)
            if name in SHORT:
                found = [fault for fault in found if fault == "has no docstring"]
            wrong += [f"{thing.__name__} {fault}" for fault in found]
        return wrong

    assert faulty(faults, FOLDERS) == {}


def test_examples_in_docstrings_run():
    def faults(name):
        module, report = importlib.import_module(name), []
        runner = doctest.DocTestRunner(verbose=False)
        for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
            runner.run(example, out=report.append)
        return report

    assert faulty(faults, MODULES + LAB) == {}


def whole(a, *, b=1) -> float:
    """Return a.

    Parameters
    ----------
    a, b : float
        Numbers.

    Returns
    -------
    float
        The sum.
    """


def astray(a, b=2, c=None, d=True, e=1e-5, f=0.5, *, g="x") -> None:
    """Take a few.

    Parameters
    ----------
    a : float, default 1
    b : int, default 3
    c : float
    d : bool, default 1
    e : float, optional
    f : float
    g : {"x", "y"}, default "y"
    """


def agreed(a, b=2, c=None, d=True, e=1e-5, *, f=ROOT, g="x", h=float("inf")) -> None:
    """Take a few.

    Parameters
    ----------
    a : float
    b : int, default 2
    c : float, optional
    d : bool, default True
    e : float, default 1e-5
    f : Path, default ROOT
    g : {"x", "y"}, default "x"
    h : float, default inf
    """


def test_planted_defaults_are_noticed():
    assert [fault.partition(" ")[0] for fault in misstated(astray)] == list("abcdefg")
    assert misstated(agreed) == []


def silent(a) -> None: ...


def brief(a) -> float:
    """The number a.

    Parameters
    ----------
    a : float
    """


def lacking(a, b) -> tuple[float, float]:
    """Return a.

    Parameters
    ----------
    a : float
        Number.

    Remarks
    -------
    Here b : and more.
    """


def disorderly(a) -> float:
    """Return a.

    Returns
    -------
    float

    Parameters
    ----------
    a
        Number.
    """


@dataclass(frozen=True)
class Result:
    """Two numbers."""

    #: the first
    a: float
    b: float  #: the second
    c: float  # the third

    @property
    def d(self):
        """The fourth: one number."""


def test_planted_docstrings_are_noticed():
    assert undocumented(Result) == [
        "says 'The fourth: one number.': what is before the colon becomes a type",
        "says nothing of the parameter c",
    ]
    assert undocumented(whole) == []
    assert undocumented(brief) == []
    assert undocumented(silent) == ["has no docstring"]
    assert undocumented(lacking) == [
        "says nothing of the parameter b",
        "has no section Returns",
        "has a section 'Remarks' of no known kind",
    ]
    assert undocumented(disorderly) == ["has its sections in the order Returns, Parameters"]
