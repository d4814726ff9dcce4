"""The commands, one in each module; each imports what it needs and is loaded when it is called."""
