"""The long-running service: schedule, triggers, retries and shutdown."""
