"""Writes the committed table: ``python -m pdpbook.comparison``."""

import sys

from pdpbook.comparison.sweep import main

if __name__ == "__main__":
    sys.exit(main())
