"""What several suites use: repositories, the daemon as a process, kubectl."""
