"""The dialogues of a corpus, the last of them or those of whole documents held out."""

from regard.data import Corpus
from regard.data.own.corpora import StoredCorpus


def dialogues_of(corpus: Corpus, share: float) -> tuple[list[str], list[str]]:
    """The stretches between blank lines that train, and those that validate.

    >>> dialogues_of(Corpus("two", "A: yes?\\n\\nB: no.\\n"), 0.5)
    (['A: yes?'], ['B: no.'])
    """
    if isinstance(corpus, StoredCorpus):
        learn, held = (
            Corpus(corpus.name, "".join(corpus.stretches(share, held=held))).dialogues()
            for held in (False, True)
        )
        return learn, held
    dialogues = corpus.dialogues()
    at = int(len(dialogues) * (1 - share))
    return dialogues[:at], dialogues[at:]
