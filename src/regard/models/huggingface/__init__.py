"""At home with Hugging Face folders: weights from and to them, and what their configs cost."""

from regard.models.huggingface.folders import from_huggingface, to_huggingface

__all__ = ["from_huggingface", "to_huggingface"]
