import json
import subprocess
import sys

# In a process of its own: Gradio leaves event loops behind.
CODE = """
import json, sys
import gradio as gr
from regard.studio.rooms import dialogue, sentiment
from regard.studio.shelf import Shelf
from regard.train import load_run

said = []
for room, wanted, folder in zip((dialogue, sentiment), ("zoo:dialogue", "zoo:sentiment"), sys.argv[1:]):
    with gr.Blocks() as built:
        room.build(Shelf({name: load_run(folder) for name in ("zoo:another", wanted)}))
    said.append(next(part.value for part in built.blocks.values() if isinstance(part, gr.Dropdown)))
print(json.dumps(said))
"""


def test_a_room_begins_with_the_model_made_for_it(runs):
    command = [sys.executable, "-c", CODE, str(runs[1]), str(runs[2])]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == ["zoo:dialogue", "zoo:sentiment"]
