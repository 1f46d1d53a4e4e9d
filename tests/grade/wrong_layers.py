"""Wrong solutions of convolution as a matrix and of the locally connected layer; see `wrong_functions`."""

from tests.grade.right_functions import LOCAL_HEAD, RIGHT


def edited(source: str, *edits: tuple[str, str]) -> str:
    """A solution after edits, each of which finds its place."""
    for there, put in edits:
        assert there in source, there
        source = source.replace(there, put)
    return source


# Two right ones: rows laid out by slices, and tap by tap.
SLICES = """
import torch
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        k = len(kernel)
        out = (n + 2 * padding - k) // stride + 1
        M = torch.zeros(out, n + 2 * padding)
        for i in range(out):
            M[i, i * stride:i * stride + k] = kernel
        return M[:, padding:padding + n]
    R, C = n
    kh, kw = kernel.shape
    oh, ow = (R + 2 * padding - kh) // stride + 1, (C + 2 * padding - kw) // stride + 1
    M = torch.zeros(oh, ow, R + 2 * padding, C + 2 * padding)
    for i in range(oh):
        for j in range(ow):
            M[i, j, i * stride:i * stride + kh, j * stride:j * stride + kw] = kernel
    return M[:, :, padding:padding + R, padding:padding + C].reshape(oh * ow, -1)
"""
TAPS = """
import torch
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        k = len(kernel)
        out = (n + 2 * padding - k) // stride + 1
        M = torch.zeros(out, n)
        for i in range(out):
            for a in range(k):
                c = i * stride + a - padding
                if 0 <= c < n:
                    M[i, c] = kernel[a]
        return M
    R, C = n; kh, kw = kernel.shape
    oh, ow = (R + 2 * padding - kh) // stride + 1, (C + 2 * padding - kw) // stride + 1
    M = torch.zeros(oh * ow, R * C)
    for i in range(oh):
        for j in range(ow):
            for a in range(kh):
                for b in range(kw):
                    r, c = i * stride + a - padding, j * stride + b - padding
                    if 0 <= r < R and 0 <= c < C:
                        M[i * ow + j, r * C + c] = kernel[a, b]
    return M
"""

CONV: list[tuple[str, str]] = [
    ("kernel-flipped", """
import torch
def conv_matrix(kernel, n, stride=1, padding=0):
    kernel = torch.as_tensor(kernel).float()
    if kernel.dim() == 1:
        kernel, n = kernel[None], (1, n)
        pad = (0, padding)
    else:
        pad = (padding, padding)
    kernel = kernel.flip(0, 1)
    R, C = n; kh, kw = kernel.shape
    rows = []
    for i in range(-pad[0], R + pad[0] - kh + 1, stride):
        for j in range(-pad[1], C + pad[1] - kw + 1, stride):
            line = torch.zeros(R, C)
            for a in range(kh):
                for b in range(kw):
                    if 0 <= i + a < R and 0 <= j + b < C:
                        line[i + a, j + b] = kernel[a, b]
            rows.append(line.flatten())
    return torch.stack(rows)
"""),
    ("stride-ignored", edited(SLICES, ("padding=0):\n", "padding=0):\n    stride = 1\n"))),
    ("padding-ignored", edited(SLICES, ("padding=0):\n", "padding=0):\n    padding = 0\n"))),
    ("last-window-missing", edited(SLICES, (" // stride + 1", " // stride"))),
    ("columns-over-padding", edited(
        SLICES, ("[:, padding:padding + n]", ""), ("[:, :, padding:padding + R, padding:padding + C]", ""),
    )),
    ("matrix-transposed", """
import torch
import torch.nn.functional as F
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        eye = torch.eye(n).unsqueeze(1)
        return F.conv1d(eye, kernel[None, None].float(), stride=stride, padding=padding).squeeze(1)
    R, C = n
    eye = torch.eye(R * C).view(R * C, 1, R, C)
    return F.conv2d(eye, kernel[None, None].float(), stride=stride, padding=padding).flatten(1)
"""),
    ("rows-cols-swapped", """
import torch
import torch.nn.functional as F
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        eye = torch.eye(n).unsqueeze(1)
        return F.conv1d(eye, kernel[None, None].float(), stride=stride, padding=padding).squeeze(1).T
    C, R = n
    eye = torch.eye(R * C).view(R * C, 1, R, C)
    return F.conv2d(eye, kernel[None, None].float(), stride=stride, padding=padding).flatten(1).T
"""),
    ("circulant", edited(
        TAPS, ("i * stride + a - padding, j * stride + b - padding", "(i * stride + a - padding) % R, (j * stride + b - padding) % C"),
        ("c = i * stride + a - padding\n", "c = (i * stride + a - padding) % n\n"), ("] = kernel", "] += kernel"),
    )),
    ("padding-one-side", edited(
        SLICES, ("2 * padding", "padding"), ("padding:padding + n", "padding:"),
        ("padding:padding + R, padding:padding + C", "padding:, padding:"),
    )),
    ("kernel-transposed", edited(TAPS, ("    R, C = n;", "    kernel = kernel.T\n    R, C = n;"))),
    ("places-in-column-order", """
import torch
import torch.nn.functional as F
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        cols = [F.conv1d(e.view(1, 1, -1), kernel.view(1, 1, -1).float(), stride=stride, padding=padding).flatten() for e in torch.eye(n)]
        return torch.stack(cols, 1)
    R, C = n
    cols = []
    for e in torch.eye(R * C):
        y = F.conv2d(e.view(1, 1, R, C), kernel[None, None].float(), stride=stride, padding=padding)[0, 0]
        cols.append(y.T.flatten())
    return torch.stack(cols, 1)
"""),
    ("padding-not-centred", edited(TAPS, (" - padding", ""))),
    ("image-rows-run-on", """
import torch
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        k = len(kernel)
        out = (n + 2 * padding - k) // stride + 1
        M = torch.zeros(out, n + 2 * padding)
        for i in range(out):
            M[i, i * stride:i * stride + k] = kernel
        return M[:, padding:padding + n]
    R, C = n
    flat = kernel.flatten()
    m = R * C
    out = (m + 2 * padding - len(flat)) // stride + 1
    M = torch.zeros(out, m + 2 * padding)
    for i in range(out):
        M[i, i * stride:i * stride + len(flat)] = flat
    return M[:, padding:padding + m]
"""),
    ("stride-plus-one", """
import torch
def conv_matrix(kernel, n, stride=1, padding=0):
    one = kernel.dim() == 1
    K = kernel[None] if one else kernel
    R, C = (1, n) if one else n
    pr = 0 if one else padding
    kh, kw = K.shape
    rows = []
    i = -pr
    while i + kh <= R + pr:
        j = -padding
        while j + kw <= C + padding:
            line = torch.zeros(R + 2 * pr, C + 2 * padding)
            line[i + pr:i + pr + kh, j + padding:j + padding + kw] = K
            rows.append(line[pr:pr + R, padding:padding + C].reshape(-1))
            j += stride + 1
        i += stride + 1
    return torch.stack(rows)
"""),
    ("stride-one-axis", """
import torch
def conv_matrix(kernel, n, stride=1, padding=0):
    if kernel.dim() == 1:
        kernel, n, p = kernel[None], (1, n), 0
    else:
        p = padding
    R, C = n; kh, kw = kernel.shape
    rows = []
    for i in range(0, R + 2 * p - kh + 1):
        for j in range(0, C + 2 * padding - kw + 1, stride):
            m = torch.zeros(R + 2 * p, C + 2 * padding)
            m[i:i + kh, j:j + kw] = kernel
            rows.append(m[p:p + R, padding:padding + C].flatten())
    return torch.stack(rows)
"""),
]  # fmt: skip

SUMMED = RIGHT["locally-connected"]["unfold and einsum"]

LOCAL: list[tuple[str, str]] = [
    ("weights-shared", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel, stride, padding)
    def forward(self, x):
        return self.conv(x)
"""),
    ("weights-shared", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, cin, cout, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p = kernel, stride, padding
        self.h = (size[0] + 2 * padding - kernel) // stride + 1
        self.w = (size[1] + 2 * padding - kernel) // stride + 1
        self.weight = nn.Parameter(torch.randn(cin * kernel * kernel, cout) * 0.1)
        self.bias = nn.Parameter(torch.zeros(self.h * self.w, cout))
    def forward(self, x):
        cols = F.unfold(x, self.k, stride=self.s, padding=self.p).transpose(1, 2)
        y = cols @ self.weight + self.bias
        return y.transpose(1, 2).reshape(len(x), -1, self.h, self.w)
"""),
    ("weights-shared-along-rows", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, cin, cout, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p = kernel, stride, padding
        self.h = (size[0] + 2 * padding - kernel) // stride + 1
        self.w = (size[1] + 2 * padding - kernel) // stride + 1
        self.weight = nn.Parameter(torch.randn(self.h, cout, cin * kernel * kernel))
        self.bias = nn.Parameter(torch.zeros(cout, self.h, self.w))
    def forward(self, x):
        x = F.pad(x, (self.p,) * 4)
        rows = []
        for i in range(self.h):
            line = []
            for j in range(self.w):
                patch = x[:, :, i * self.s:i * self.s + self.k, j * self.s:j * self.s + self.k].flatten(1)
                line.append(patch @ self.weight[i].T)
            rows.append(torch.stack(line, -1))
        return torch.stack(rows, -2) + self.bias
"""),
    ("stride-ignored", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, cin, cout, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.p = kernel, padding
        self.h, self.w = size[0] + 2 * padding - kernel + 1, size[1] + 2 * padding - kernel + 1
        self.weight = nn.Parameter(torch.randn(self.h * self.w, cin * kernel ** 2, cout))
    def forward(self, x):
        patches = F.unfold(x, self.k, padding=self.p).permute(2, 0, 1)
        y = torch.bmm(patches, self.weight)
        return y.permute(1, 2, 0).reshape(len(x), -1, self.h, self.w)
"""),
    ("padding-ignored", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        H, W = size
        self.kernel, self.stride = kernel, stride
        self.out_h, self.out_w = (H - kernel) // stride + 1, (W - kernel) // stride + 1
        self.weight = nn.Parameter(torch.randn(1, out_channels, in_channels, self.out_h, self.out_w, kernel ** 2))
        self.bias = nn.Parameter(torch.randn(1, out_channels, self.out_h, self.out_w))
    def forward(self, x):
        x = x.unfold(2, self.kernel, self.stride).unfold(3, self.kernel, self.stride)
        x = x.contiguous().view(*x.size()[:-2], -1)
        return (x.unsqueeze(1) * self.weight).sum([2, -1]) + self.bias
"""),
    ("rows-cols-swapped", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        W, H = size
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.h, self.w = (H + 2 * padding - kernel) // stride + 1, (W + 2 * padding - kernel) // stride + 1
        self.weight = nn.Parameter(torch.randn(self.h * self.w, out_channels, in_channels * kernel ** 2))
    def forward(self, x):
        u = F.unfold(x, self.kernel, padding=self.padding, stride=self.stride)
        y = torch.einsum('bkp,pok->bop', u, self.weight)
        return y.view(len(x), -1, self.h, self.w)
"""),
    ("last-window-missing", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        H, W = size
        self.k, self.s, self.p = kernel, stride, padding
        self.h, self.w = (H + 2 * padding - kernel) // stride, (W + 2 * padding - kernel) // stride
        self.maps = nn.ModuleList([nn.Linear(in_channels * kernel ** 2, out_channels) for _ in range(self.h * self.w)])
    def forward(self, x):
        x = F.pad(x, [self.p] * 4)
        outs = []
        for i in range(self.h):
            for j in range(self.w):
                p = x[:, :, i * self.s:i * self.s + self.k, j * self.s:j * self.s + self.k]
                outs.append(self.maps[i * self.w + j](p.flatten(1)))
        return torch.stack(outs, -1).view(len(x), -1, self.h, self.w)
"""),
    ("dense", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        H, W = size
        self.o, self.h, self.w = out_channels, (H + 2 * padding - kernel) // stride + 1, (W + 2 * padding - kernel) // stride + 1
        self.fc = nn.Linear(in_channels * H * W, out_channels * self.h * self.w)
    def forward(self, x):
        return self.fc(x.flatten(1)).view(-1, self.o, self.h, self.w)
"""),
    ("channels-share-weights", edited(
        SUMMED, ("self.h, self.w, out_channels, in_channels, kernel", "out_channels, self.h, self.w, kernel"), ("hwocij", "ohwij"),
    )),
    ("bias-shared", edited(
        SUMMED, ("torch.zeros(out_channels, self.h, self.w)", "torch.zeros(out_channels)"), ("self.bias\n", "self.bias[:, None, None]\n"),
    )),
    ("activation-added", edited(SUMMED, ("return torch.einsum(", "return F.relu(torch.einsum("), ("self.bias\n", "self.bias)\n"))),
    ("weights-not-learned", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p, self.o = kernel, stride, padding, out_channels
        self.h, self.w = ((n + 2 * padding - kernel) // stride + 1 for n in size)
        self.kernels = [nn.Linear(in_channels * kernel * kernel, out_channels) for _ in range(self.h * self.w)]
    def forward(self, x):
        u = F.unfold(x, self.k, stride=self.s, padding=self.p)
        y = torch.stack([f(u[:, :, i]) for i, f in enumerate(self.kernels)], 2)
        return y.view(len(x), self.o, self.h, self.w)
"""),
    ("output-order", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p = kernel, stride, padding
        self.h, self.w = ((n + 2 * padding - kernel) // stride + 1 for n in size)
        self.weight = nn.Parameter(torch.randn(self.h * self.w, in_channels * kernel * kernel, out_channels))
    def forward(self, x):
        u = F.unfold(x, self.k, stride=self.s, padding=self.p).permute(2, 0, 1)
        y = (u @ self.weight).permute(1, 0, 2)  # B places out
        return y.reshape(len(x), -1, self.h, self.w)
"""),
    ("window-one-short", LOCAL_HEAD + """
class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        super().__init__()
        self.k, self.s, self.p = kernel, stride, padding
        self.h, self.w = ((n + 2 * padding - kernel) // stride + 1 for n in size)
        self.W = nn.Parameter(torch.randn(self.h, self.w, out_channels, in_channels, kernel - 1, kernel - 1))
    def forward(self, x):
        x = F.pad(x, (self.p,) * 4)
        out = x.new_zeros(len(x), self.W.shape[2], self.h, self.w)
        for i in range(self.h):
            for j in range(self.w):
                p = x[:, :, i * self.s:i * self.s + self.k - 1, j * self.s:j * self.s + self.k - 1]
                out[:, :, i, j] = torch.einsum('bcij,ocij->bo', p, self.W[i, j])
        return out
"""),
    ("windows-adjacent", edited(
        SUMMED, ("(n + 2 * padding - kernel) // stride + 1", "(n + 2 * padding) // kernel"), (", self.s)", ", self.k)"),
    )),
]  # fmt: skip

WRONG = {"conv-matrix": CONV, "locally-connected": LOCAL}
