"""The rooms of the studio, one file each: `build(models)` lays out its part of the page."""
