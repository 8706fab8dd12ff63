"""Settings: every configuration, preset, choice and default. Imports no torch."""
