"""The probes, one module for each area; a probe's id starts with its module's name."""
