"""The plug-ins of the suite: a module for each system, with its ``PLUGIN``."""
