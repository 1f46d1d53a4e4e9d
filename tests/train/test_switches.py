import pytest
import torch

from regard.train import Execution
from regard.train.switches import chosen_compile

CUDA = torch.device("cuda", 0)


def test_shapes_that_change_are_no_graph():
    assert chosen_compile(Execution(), CUDA, 1) == "graph"
    assert chosen_compile(Execution(), CUDA, 1, fixed=False) == "none"
    assert chosen_compile(Execution(compile="none"), CUDA, 1, fixed=False) == "none"
    assert chosen_compile(Execution(), torch.device("cpu"), 1, fixed=False) == "none"
    for how in ("graph", "compile"):
        with pytest.raises(ValueError, match=f"compile={how} needs batches of one shape"):
            chosen_compile(Execution(compile=how), CUDA, 1, fixed=False)
