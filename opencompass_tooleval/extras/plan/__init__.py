"""``tooleval plan``: what a config would run, what would stop it, and which drops a gate would find."""
