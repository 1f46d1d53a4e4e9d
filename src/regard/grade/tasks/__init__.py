"""The tasks of the sheets, one or two a file: skeleton, definition, how it is tried, and the mistakes."""
