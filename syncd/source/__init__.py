"""Git repositories: mirrors, polling, and reading trees without a checkout."""

import os

# GitPython looks for git when it is imported, and raises ImportError without it; "quiet" leaves that to the first use,
# where it becomes an error that a person can act on.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
