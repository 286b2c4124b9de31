"""What the benchmarks share with OpenCompass: the only shared room that imports it."""
