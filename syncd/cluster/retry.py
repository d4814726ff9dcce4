"""When a request is sent again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from syncd.cluster.errors import ApiError, ServerError, TimedOutError, TooManyRequestsError, UnreachableError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how soon to try again. Times are seconds."""

    attempts: int = 5
    first: float = 0.25
    cap: float = 5.0

    def delay(self, error: ApiError, attempt: int, *, reads: bool) -> float | None:
        """How long to wait before the next try; None if there is none.

        Args:
            error: What came of the last try.
            attempt: How many tries there were.
            reads: Whether the request changes nothing.
        """
        passing = isinstance(error, TooManyRequestsError | ServerError | UnreachableError | TimedOutError)
        if attempt >= self.attempts or not passing or (error.may_have_acted and not reads):
            return None
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not cryptography
        backoff = spread * min(self.cap, self.first * 2.0 ** (attempt - 1))
        return backoff if error.retry_after is None else error.retry_after + backoff
