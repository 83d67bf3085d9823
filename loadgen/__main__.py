"""`python -m loadgen` and the `loadgen` command."""

from loadgen.cli import main

if __name__ == "__main__":
    main()
