"""`python -m flashkeep`: the same as the command `flashkeep`."""

import sys

from .cli import main

sys.exit(main())
