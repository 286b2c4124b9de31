"""A leaderboard as a static site, from bundles of results."""
