"""Pure functions on text and numbers: no file, no network, no OpenCompass."""
