"""How anything is shown: colours, numbers, formulas, tables, SVG, figures, pages. What is shown, rooms say.

This room knows nothing of patterns, models or lessons, and every other room may use it.
"""
