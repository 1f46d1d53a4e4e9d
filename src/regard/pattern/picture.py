def text(dense):
    return "\n".join("".join("#" if c else "." for c in row) for row in dense.tolist())
