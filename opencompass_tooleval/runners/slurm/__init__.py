"""Runs a stage as job arrays of unmodified Slurm."""
