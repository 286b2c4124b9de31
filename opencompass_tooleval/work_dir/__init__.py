"""Reads, checks and converts work directories without OpenCompass."""
