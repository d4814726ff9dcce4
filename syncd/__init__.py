"""syncd keeps a Kubernetes cluster equal to what Git says."""

from typing import Final

__version__: Final = "0.1.0"
