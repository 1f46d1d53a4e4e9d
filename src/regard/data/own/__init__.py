"""Data of one's own: folders of images, files and folders of text, and tables, read where they lie."""
