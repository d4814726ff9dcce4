"""What one reconcile will do to each object, and why, before any of it is done. Pure.

Desired manifests, live objects and the inventory go in; a :class:`syncd.model.Plan` comes out. Nothing else decides
what happens to an object: the executor asks the same functions again when an object turns out to be different.
"""
