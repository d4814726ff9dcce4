"""One reconcile, from a revision to its outcomes."""
