"""Teaching with the book: hand out, collect and grade its exercises."""

import argparse
import sys
from pathlib import Path

from course.results import write_results
from pdpbook.pages.exercises import ASSIGNMENTS


def arguments(words: list[str]) -> argparse.Namespace:
    """What was asked for; an autograder has the grader alone, a checkout everything."""
    parser = argparse.ArgumentParser(prog="python -m course", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    if (Path(__file__).resolve().parent.parent / "tools").is_dir():
        from course.commands import add

        add(commands)
    about = "write the results file of Gradescope; its autograder runs this"
    scope = commands.add_parser("results", help=about, description=about)
    scope.add_argument("assignment", choices=ASSIGNMENTS)
    scope.add_argument("--root", type=Path, default=Path("/autograder"))
    scope.set_defaults(run=lambda given: write_results(given.root, given.assignment))
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run the command line; returns the exit code."""
    given = arguments(words)
    return int(given.run(given) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
