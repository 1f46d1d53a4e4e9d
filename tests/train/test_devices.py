"""The rules for devices, with devices that are not there made up."""

import pytest
import torch

from regard.train import Execution
from regard.train.devices import chosen_device, device_name
from regard.train.distributed import join
from regard.train.switches import chosen_compile, uses_bfloat16

MPS = torch.device("mps")


@pytest.fixture
def apple(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_an_apple_gpu_is_taken_when_it_is_asked_for(apple):
    assert chosen_device("mps") == MPS
    assert chosen_device(None).type == "cpu"
    assert device_name(MPS) == "Apple GPU"


def test_what_is_chosen_for_an_apple_gpu(apple, monkeypatch):
    how = Execution()
    assert (chosen_compile(how, MPS, 1), uses_bfloat16(how, MPS)) == ("none", False)
    with pytest.raises(ValueError, match="compile=graph needs a GPU of CUDA, got device=mps"):
        chosen_compile(Execution(compile="graph"), MPS, 1)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(ValueError, match="for one process, got device=mps and 2 processes"):
        join(MPS, "replicate")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("tpu", "device must be one of cpu, cuda, mps, got device='tpu'"),
        ("cuda", "no GPU is available, got device='cuda'"),
        ("mps", "no Apple GPU is available, got device='mps'"),
        ("cpu:x", "device must be such as cpu, cuda or cuda:1, got device='cpu:x'"),
    ],
)
def test_a_device_that_is_not_there_is_one_line(device, message, monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device must be") as caught:
        chosen_device(device)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_precision_has_one_name():
    assert Execution(precision="bf16") == Execution(precision="bfloat16")
