"""What one reconcile will do to each object, and why, before any of it is done. Pure."""
