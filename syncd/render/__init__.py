"""From a tree of files to manifests with their origins."""
