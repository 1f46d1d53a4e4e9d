"""Decoders between generations: lent to one at a time, kept unless something failed, gone with the model."""

import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from regard.models.decode import Decoder
from regard.models.decode_prepacked import PrepackedDecoder
from regard.models.decode_store import DecoderStore
from tests.models.test_decode import lively


def test_of_many_threads_one_gets_the_decoder():
    store, model = DecoderStore(), lively()
    for _ in range(20):
        with store.lend(model, Decoder(model, 1, 4)):
            pass
        start = Barrier(4)

        def take(start=start):
            start.wait()
            return store.take(model, Decoder)

        with ThreadPoolExecutor(4) as pool:
            found = [task.result() for task in [pool.submit(take) for _ in range(4)]]
        assert sum(decoder is not None for decoder in found) == 1


def test_only_the_same_kind_is_taken():
    store, model = DecoderStore(), lively()
    with store.lend(model, PrepackedDecoder(model, 1, 4)):
        pass
    assert store.take(model, Decoder) is None
    assert store.take(model, PrepackedDecoder) is None  # the first question has dropped it


def test_what_failed_is_not_kept_and_what_was_left_early_is():
    store, model = DecoderStore(), lively()
    with pytest.raises(ZeroDivisionError), store.lend(model, Decoder(model, 1, 4)):
        1 // 0  # noqa: B018 - it fails
    assert model not in store.latest

    def stream():
        with store.lend(model, Decoder(model, 1, 4)) as loan:
            loan.decoder = Decoder(model, 1, 8)
            yield loan.decoder

    tokens = stream()
    larger = next(tokens)
    tokens.close()
    assert store.take(model, Decoder) is larger


def test_a_store_keeps_no_model_alive():
    store, model = DecoderStore(), lively()
    with store.lend(model, Decoder(model, 1, 4)):
        pass
    del model
    gc.collect()
    assert len(store.latest) == 0
