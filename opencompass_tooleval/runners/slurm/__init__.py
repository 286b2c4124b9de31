"""A stage as job arrays of stock Slurm."""
