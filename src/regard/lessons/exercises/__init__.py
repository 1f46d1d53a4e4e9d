"""The exercises of the lessons, one file each: questions, truths, and the mistakes that are known by name."""
