"""Mutation testing by hand: a sample of one module's mutants against the module's own tests.

Run it in a throw-away clone, see README.md: it writes setup.cfg and the folder mutants/.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

SEED, COUNT = 7, 200
MODULES = {  # test files; tests left out, because they take long or test the tests (planted bugs)
    "noise": (
        ["noise", "noise_grid"],
        "not (test_noise_grid and (planted or (calibrated and not 3000)))",
    ),
    "sensitivity": (["sensitivity"], ""),
    "personalized": (
        ["weights", "personalized", "accuracy", "sampling"],
        "not planted and not caught and not without_one_of_its_terms"
        " and not (calibrated and (huber or intercept or tight))"
        " and not (fit_draws_from_the_output_law and sampled)"
        " and not (simulated_one and gaussian)",
    ),
    "per_instance": (
        [f"per_instance_{name}" for name in ("levels", "ops", "people", "smooth")],
        "not planted and not caught and not (one_dimensional_family and (1e-06 or 0.001))",
    ),
    "gwa": (["gwa_dual", "gwa_interior", "gwa_regression", "gwa_solver"], ""),
    "pac": (["pac_noise", "pac_rates"], ""),
}
CONFIG = """[mutmut]
source_paths=pdpbook
only_mutate=
{sources}
also_copy=
    conftest.py
    tools
timeout_multiplier=3.0
timeout_constant=5.0
pytest_add_cli_args=
    -m
    not slow
    -p
    no:cacheprovider
{keyword}pytest_add_cli_args_test_selection=
{files}
"""


class Only:
    """Run the tests that reach a mutant, the fastest first; a failure is not shrunk."""

    def __init__(self, seconds):
        self.seconds, self.wanted = seconds, None

    def pytest_sessionstart(self):
        import hypothesis  # not before pytest has seen its plugin

        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile("mutants", hypothesis.settings(), phases=phases)
        hypothesis.settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items):
        if self.wanted:
            kept = [item for item in items if item.nodeid in self.wanted]
            items[:] = sorted(kept, key=lambda one: (self.seconds().get(one.nodeid, 0), one.nodeid))


def sources(module: str) -> list[Path]:
    """Files of a module."""
    files = [Path(f"pdpbook/{module}.py"), *Path(f"pdpbook/{module}").rglob("*.py")]
    return [file for file in files if file.exists()]


def run(files: list[Path], count: int) -> None:
    """Mutate, sample and test; setup.cfg must be there before mutmut is imported."""
    import mutmut.__main__ as engine
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.runners.harness import PytestRunner
    from mutmut.state import state
    from mutmut.utils.format_utils import get_mutant_name

    names = []
    for file in files:
        made = mutate_file_contents(str(file), file.read_text(encoding="utf-8")).mutant_names
        names += [get_mutant_name(file, name) for name in made]
    sample = sorted(random.Random(SEED).sample(sorted(names), min(count, len(names))))

    only, execute = Only(lambda: state().duration_by_test), PytestRunner.execute_pytest

    def arguments(self, tests):  # mutmut names tests on the command line, which fails for some ids
        only.wanted = set(tests) or None
        return ["-x", "-q", *self._pytest_add_cli_args_test_selection]

    def with_plugin(self, params, plugins=(), **settings):
        code = execute(self, params, plugins=[*plugins, only], **settings)
        only.wanted = None
        return code

    PytestRunner._pytest_args_regular_run = arguments
    PytestRunner.execute_pytest = with_plugin
    engine._run(tuple(sample), 1)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab mutants", description=__doc__)
    parser.add_argument("module", choices=MODULES)
    parser.add_argument("--count", type=int, default=COUNT)
    chosen = parser.parse_args(arguments)
    tests, keyword = MODULES[chosen.module]
    mutated = sources(chosen.module)
    paths = "\n".join(f"    {file}" for file in mutated)
    files = "\n".join(f"    tests/test_{name}.py" for name in tests)
    keyword = f"    -k\n    {keyword}\n" if keyword else ""
    text = CONFIG.format(sources=paths, keyword=keyword, files=files)
    Path("setup.cfg").write_text(text, encoding="utf-8")
    run(mutated, chosen.count)
    return 0
