"""The rooms of the studio, one file each: `build(shelf)` lays out its part of the page."""
