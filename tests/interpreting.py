"""Triton's interpreter, without what it does in vain."""

from triton import language
from triton.runtime.interpreter import InterpretedFunction


def patch_once() -> None:
    """A function that a kernel calls finds Triton's language as it was patched for the kernel.

    The interpreter patches it anew at every such call, which is a third of its time.
    """
    patched = InterpretedFunction.__call__
    ways = (language, language.core)

    def call(self, *args, **named):
        mine = [one for one in self.fn.__globals__.values() if any(one is way for way in ways)]
        if any(language.core.is_builtin(one.load) for one in mine):
            return patched(self, *args, **named)
        return self.rewrite()(*args, **named)

    InterpretedFunction.__call__ = call
