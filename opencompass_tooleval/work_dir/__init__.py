"""A work directory and what is done with it: no OpenCompass."""
