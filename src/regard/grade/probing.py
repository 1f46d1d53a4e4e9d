"""Linear maps from responses: attention whose weights cannot be read is still determined by what it answers.

Log-weights minus those of the first key are bilinear in query and key, so that a few random inputs give the
form of every head; outputs are linear in the weighted inputs, which gives the values and W_O in one map.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.grade.attending import with_one
from regard.grade.readings import HeadMaps


def probe_attention(x: Tensor, out: Tensor, alphas: Tensor) -> HeadMaps | None:
    """Maps that explain outputs (B, T, e) and weights (B, H, T, T) for x (B, T, d); None if none can."""
    B, H, T, _ = alphas.shape
    d = x.shape[-1]
    if alphas.min() <= 0 or out.shape[:2] != x.shape[:2]:
        return None
    logs = alphas.double().log()
    differ = (x[:, None, :, :] - x[:, None, :1, :]).double()[:, :, 1:]  # B 1 T-1 d
    asks = with_one(x).double()  # B T d+1
    features = torch.einsum("btc,bse->btsce", asks, differ[:, 0]).reshape(B * T * (T - 1), -1)
    forms = []
    for head in range(H):
        target = (logs[:, head, :, 1:] - logs[:, head, :, :1]).reshape(-1, 1)
        forms.append(torch.linalg.lstsq(features, target, driver="gelsd").solution.view(d + 1, d))
    seen = torch.einsum("bhqk,bkc->bqhc", alphas.double(), x.double()).reshape(B * T, H * d)
    answers = torch.linalg.lstsq(
        torch.cat([seen, torch.ones(B * T, 1)], 1), out.double().reshape(B * T, -1), driver="gelsd"
    ).solution
    e = out.shape[-1]
    q = torch.stack([form.mT for form in forms]).float()  # H d d+1
    k = torch.cat([torch.eye(d), torch.zeros(d, 1)], 1).expand(H, d, d + 1)
    v = torch.cat([answers[:-1].view(H, d, e).mT, torch.zeros(H, e, 1)], -1).float()
    rest = torch.cat([torch.zeros(e, 1), answers[-1][:, None].float()], 1)
    return HeadMaps(q, k, v, rest, probed=True)
