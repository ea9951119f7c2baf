"""`python -m grader VERB …`, which `./course VERB …` runs."""

import sys

from grader.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
