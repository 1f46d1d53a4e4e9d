"""What all tests share: one thread per worker, and no deadline on random examples."""

import torch
from hypothesis import HealthCheck, settings

# The workers share two cores; torch's own threads would only wait for each other.
torch.set_num_threads(1)

settings.register_profile("regard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("regard")
