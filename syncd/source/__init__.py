"""Git repositories: mirrors, polling, credentials and trees read without a checkout."""
