"""`python -m loadgen.mock`."""

import sys

from loadgen.mock.server import main

if __name__ == "__main__":
    sys.exit(main())
