"""Data that come with the package and need no network: a play, a review language, and pairs to probe with."""
