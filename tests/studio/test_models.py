import gradio as gr

from regard.studio.models import Models
from regard.studio.rooms import dialogue, sentiment
from regard.train import load_run
from tests.studio.conftest import built


def test_a_room_begins_with_the_model_made_for_it(runs):
    rooms = ((dialogue, "zoo:dialogue", runs[1]), (sentiment, "zoo:sentiment", runs[2]))
    for room, wanted, folder in rooms:
        run = load_run(folder)
        page = built(room.build, Models(dict.fromkeys(("zoo:another", wanted), run)))
        assert next(part.value for part in page.blocks.values() if isinstance(part, gr.Dropdown)) == wanted
