"""Is an object ready: rules per kind. Pure."""
