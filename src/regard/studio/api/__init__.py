"""What the page asks for: one file a room, one function an action, all of them named in `table`."""
