"""The slow and obvious augmentation: one picture, one pixel at a time, in Python numbers."""

from math import cos, floor, log, pi, sin, sqrt

from regard.data.augment import ERASED, GREY, SLANT, Augment, Draws


def below(u: float, end: int) -> int:
    return min(floor(u * end), end - 1)


def mirrored(i: int, size: int) -> int:
    if i < 0:
        i = -i
    if i > size - 1:
        i = 2 * (size - 1) - i
    return i


def grey(pixel: list[float]) -> float:
    if len(pixel) == 3:
        return sum(share * value for share, value in zip(GREY, pixel, strict=True))
    return sum(pixel) / len(pixel)


def beta(alpha: float, u: float, v: float) -> float:
    c, power = cos(2 * pi * v), u ** (1 / alpha)
    return 0.5 + 0.5 * c / sqrt(c * c + power / (1 - power))


def turned(augment: Augment, draws: dict[str, float], down: float, right: float) -> tuple[float, float]:
    angle = (2 * draws["turn"] - 1) * augment.turn * pi / 180
    scale = (1 + augment.zoom) ** (2 * draws["zoom"] - 1)
    return (
        scale * (cos(angle) * down - sin(angle) * right),
        scale * (sin(angle) * down + cos(angle) * right),
    )


def changed(augment: Augment, image, draws: dict[str, float]) -> list:
    """One picture [C][rows][cols] of 0 to 255 after colour, crop, flip and erase."""
    C, R, S = len(image), len(image[0]), len(image[0][0])
    light, contrast, saturation = (
        1 + augment.colour * (2 * draws[name] - 1) for name in ("brightness", "contrast", "saturation")
    )
    pixels = {(r, s): [image[c][r][s] for c in range(C)] for r in range(R) for s in range(S)}
    middle = sum(grey(pixel) for pixel in pixels.values()) / (R * S)
    coloured = {}
    for at, pixel in pixels.items():
        values = [light * value for value in pixel]
        values = [contrast * value + (1 - contrast) * light * middle for value in values]
        level = grey(values)
        values = [saturation * value + (1 - saturation) * level for value in values]
        coloured[at] = [min(max(value, 0.0), 255.0) for value in values]
    down = below(draws["top"], 2 * augment.crop + 1) - augment.crop
    right = below(draws["left"], 2 * augment.crop + 1) - augment.crop
    hidden = set()
    if draws["erase"] < augment.erase:
        area = ERASED[0] + (ERASED[1] - ERASED[0]) * draws["erase_area"]
        ratio = 2.718281828459045 ** ((2 * draws["erase_slant"] - 1) * log(SLANT))  # height / width
        height = min(max(round(R * sqrt(area * ratio)), 1), R)
        width = min(max(round(S * sqrt(area / ratio)), 1), S)
        top, left = below(draws["erase_top"], R - height + 1), below(draws["erase_left"], S - width + 1)
        hidden = {(r, s) for r in range(top, top + height) for s in range(left, left + width)}
    out = [[[0.0] * S for _ in range(R)] for _ in range(C)]
    for r in range(R):
        for s in range(S):
            row, col = r, S - 1 - s if draws["flip"] < augment.flip else s
            if augment.turn or augment.zoom:
                row, col = turned(augment, draws, row - (R - 1) / 2, col - (S - 1) / 2)
                row, col = round(row + (R - 1) / 2), round(col + (S - 1) / 2)
            row, col = row + down, col + right
            if augment.border == "mirror":
                row, col = min(max(mirrored(row, R), 0), R - 1), min(max(mirrored(col, S), 0), S - 1)
            if 0 <= row < R and 0 <= col < S and (r, s) not in hidden:
                for c in range(C):
                    out[c][r][s] = coloured[row, col][c]
    return out


def reference(augment: Augment, images, labels, draws: Draws):
    """Images [B][C][rows][cols] and targets [B][classes]."""
    B, C, R, S = images.shape
    each = [{name: float(getattr(draws, name)[b]) for name in Draws._fields} for b in range(B)]
    plain = [changed(augment, images[b].tolist(), each[b]) for b in range(B)]
    pictures, targets = [], []
    for b in range(B):
        other = (b - 1) % B
        u, v = each[b]["mix_radius"], each[b]["mix_angle"]
        target = [0.0] * augment.classes
        share = [[1.0] * S for _ in range(R)]
        if augment.mixup and (not augment.cutmix or each[b]["mix"] < 0.5):
            share = [[beta(augment.mixup, u, v)] * S for _ in range(R)]
        elif augment.cutmix:
            side = sqrt(1 - beta(augment.cutmix, u, v))
            height, width = round(R * side), round(S * side)
            top = below(each[b]["mix_top"], R) - height // 2
            left = below(each[b]["mix_left"], S) - width // 2
            for r in range(max(top, 0), min(top + height, R)):
                for s in range(max(left, 0), min(left + width, S)):
                    share[r][s] = 0.0
        own = sum(map(sum, share)) / (R * S)
        target[int(labels[b])] += own
        target[int(labels[other])] += 1 - own
        picture = [
            [
                [
                    (
                        (share[r][s] * plain[b][c][r][s] + (1 - share[r][s]) * plain[other][c][r][s]) / 255
                        - augment.mean[c % len(augment.mean)]
                    )
                    / augment.std[c % len(augment.std)]
                    for s in range(S)
                ]
                for r in range(R)
            ]
            for c in range(C)
        ]
        pictures.append(picture)
        targets.append(target)
    return pictures, targets
