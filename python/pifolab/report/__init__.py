"""One HTML page about a run that needs nothing but itself: no network, no further file."""
