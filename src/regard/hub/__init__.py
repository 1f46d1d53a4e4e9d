"""At home in transformers: `attn_implementation="regard"`, patterns and bounded caches on any of its models.

Importing this room registers the implementation; it needs transformers, which the extra `hub` brings.
"""

from regard.errors import need

need("transformers", "hub")

from regard.hub.attention import regard_attention  # noqa: E402 - transformers must be there first
from regard.hub.cache import PatternCache  # noqa: E402
from regard.hub.maps import maps  # noqa: E402
from regard.hub.masks import regard_mask  # noqa: E402
from regard.hub.models import NAME, open_folder, register, use  # noqa: E402

register(regard_attention, regard_mask)

__all__ = ["NAME", "PatternCache", "maps", "open_folder", "use"]
