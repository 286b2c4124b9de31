"""Pure functions on text and numbers: no files, no network, no OpenCompass."""
