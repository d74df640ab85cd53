"""`python -m flo`, the same as the command `flo`."""

import sys

from flo.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
