"""The apply-config object: its format, hash and pages, and who owns what. Pure."""
