"""``python -m syncd.cli``: the command line, where no script was installed."""

from syncd.cli.main import main

main()
