"""Git repositories: mirrors, polling, and reading trees without a checkout."""

from syncd.source.repository import Repositories

__all__ = ["Repositories"]
