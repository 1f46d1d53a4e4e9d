from tests.train.runs.conftest import completion_run, image_run, text_run

__all__ = ["completion_run", "image_run", "text_run"]
