"""Write a table by its name: ``python -m lab NAME [options]``. Without a name: what there is."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

RESULTS = {  #: files in `results` beside a page, from `experiments`
    "lambda": "PDP-OP against the penalty",
    "eps_c": "PDP-OP against the smallest budget that anyone chooses",
    "eps_m": "PDP-OP against the budget between conservative and medium",
    "f_c": "PDP-OP against the share of conservative people",
    "n": "PDP-OP against the share of the people that is used",
    "users_synthetic": "GWA against limits on rows, made-up users",
    "users_real": "the same on drug reviews and cars",
    "users_columns": "the same with other columns of the drug reviews",
    "pac-dpsgd": "DP-SGD on its whole grid, at the ceilings of PAC privacy",
    "pac-noise": "PAC noise at these ceilings",
    "pac-bases": "PAC noise in other bases, and on raw data",
    "pac-readings": "six readings of the tables on PAC privacy, by columns of the cars",
    "scale": "memory and seconds of releases on many rows",
}
OTHERS = {  #: the module whose `main` takes the options, and what it writes
    "mechanisms": ("comparison.sweep", "every private ridge regression at every penalty"),
    "pdpop_files": ("pdpop_files", "printed numbers on PDP-OP against the authors' files"),
    "one_user": ("experiments.one_user", "steps with one user each against full gradients"),
    "user_rows": ("comparison.user_rows", "all rows of a user against one row of each"),
    "rehearsed": ("comparison.rehearsed", "rehearsals beside real fits, on five tables"),
    "skewed": ("comparison.skewed", "labels off the middle: fits around a private mean"),
    "plan_rules": ("comparison.plan_rules", "rules of choice of plans, on tables drawn at random"),
    "planned": ("comparison.planned", "what plans are worth on eight hard tables"),
    "invented": ("comparison.invented", "rehearsals beside draws of their model by other code"),
    "two_classes": ("comparison.two_classes", "two classes at one nat, at four penalties"),
    "ratios": ("benchmarks.record", "run times against yardsticks, as ratios"),
    "gwa_solvers": ("benchmarks.gwa_solvers", "which solver solves which case of GWA"),
    "alarms": ("benchmarks.alarms", "how often a sound mechanism is accused"),
    "mutants": ("benchmarks.mutants", "which mutants of one module its tests kill"),
    "by_rule": ("benchmarks.by_rule", "the same for mutants by rule, of all that spend"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is named with its own options (``python -m lab NAME --help``), or list the names."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before numpy: one each
    if given and given[0] in RESULTS:  # several files may be named
        return int(import_module("lab.experiments.records").main(given))
    if given and given[0] in OTHERS:
        return int(import_module(f"lab.{OTHERS[given[0]][0]}").main(given[1:]))
    lines = RESULTS | {name: what for name, (_, what) in OTHERS.items()}
    sys.stdout.write("python -m lab NAME [options]\n\n")
    sys.stdout.writelines(f"  {name:16} {what}\n" for name, what in lines.items())
    return 2 if given and given[0] not in ("-h", "--help") else 0


if __name__ == "__main__":
    sys.exit(main())
