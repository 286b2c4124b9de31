"""``tooleval compare``: two models side by side, with intervals of their differences."""
