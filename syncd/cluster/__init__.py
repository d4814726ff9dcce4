"""One API server: transport, discovery, OpenAPI, and the live cache."""
