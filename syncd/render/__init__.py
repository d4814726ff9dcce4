"""From a tree of files to manifests with their origins."""

from syncd.render.objects import duplicates
from syncd.render.renderer import Renderer
from syncd.render.surroundings import Capabilities, Surroundings
from syncd.render.tools import versions

__all__ = ["Capabilities", "Renderer", "Surroundings", "duplicates", "versions"]
