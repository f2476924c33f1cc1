"""Teaching with the book: hand out, collect and grade its exercises."""

import argparse
import sys
from pathlib import Path

from course import submissions


def arguments(words: list[str]) -> argparse.Namespace:
    """What was asked for; an autograder has the grader alone, a checkout everything."""
    parser = argparse.ArgumentParser(prog="python -m course", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    submissions.add(commands)
    if (Path(__file__).resolve().parent.parent / "tools").is_dir():
        from course.commands import add

        add(commands)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run the command line; returns the exit code."""
    given = arguments(words)
    return int(given.run(given) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
