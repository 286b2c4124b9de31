"""Files that other programs read: a run in their formats. Imports no OpenCompass."""
