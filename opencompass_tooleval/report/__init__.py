"""The report of a sweep: pure functions build the data of figures; templates and writers make the pages."""
