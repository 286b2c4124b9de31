"""Exports runs to files that other programs can read. These modules do not import OpenCompass."""
