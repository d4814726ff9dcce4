"""syncd keeps a Kubernetes cluster equal to what Git says."""
