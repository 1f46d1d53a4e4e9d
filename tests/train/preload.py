"""Everything that a training imports, for the process that the others are forked from."""

import matplotlib.backends.backend_svg
import matplotlib.figure
import safetensors.torch
import sklearn.datasets
import tokenizers
import torch
import torch._dynamo
import torch._inductor.test_operators
import torch.distributed.checkpoint
import torch.distributed.device_mesh
import torch.distributed.fsdp
import torch.utils.tensorboard

import regard.zoo
from tests.train import small

__all__ = ["matplotlib", "regard", "safetensors", "sklearn", "small", "tokenizers", "torch"]
