"""YAML and JSON read the way Kubernetes reads them."""
