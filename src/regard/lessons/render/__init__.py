"""A lesson in four forms: for the terminal, as Markdown, as LaTeX and as a notebook."""
