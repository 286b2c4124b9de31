"""The report: its data, its pages, and the pages in a real browser."""
