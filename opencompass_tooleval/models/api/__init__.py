"""What an OpenAI-compatible server is asked with, and how its replies and failures are read."""
