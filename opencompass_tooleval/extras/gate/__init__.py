"""``tooleval gate``: a rule over a comparison with a baseline, its outcome on the screen, as Markdown and JUnit XML."""
