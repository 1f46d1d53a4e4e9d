import json
import re

import torch

from regard.bench.machine import this_machine


def test_a_machine_names_itself():
    found = this_machine()
    assert re.fullmatch(r"[a-z0-9-]+", found.slug)
    assert found.torch == torch.__version__
    assert found.cores >= 1
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
