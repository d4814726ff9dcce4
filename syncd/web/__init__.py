"""The status page, its JSON form, probes and /metrics."""
