"""``python -m indicial`` is the ``indicial`` command."""

import sys

from indicial.cli import main

if __name__ == "__main__":
    sys.exit(main())
