"""The site: every block runs, links lead somewhere, generated pages are fresh, and nothing is fetched."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from regard.cost import price
from regard.lessons import NAMES, get
from regard.lessons.render.notebook import notebook
from regard.models.files import PARTS
from regard.pattern import parse
from regard.recipes import get as get_recipe
from regard.values import fields_of
from tests.studio.conftest import chromium

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md"))


def generated():
    spec = importlib.util.spec_from_file_location("make_docs", DOCS / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(
        rf"^```{kind}\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


WITH_CODE = [page for page in PAGES if blocks(page, "python")]


def test_there_are_pages_and_blocks():
    assert len(PAGES) > 30
    assert len(WITH_CODE) > 8


@pytest.mark.parametrize("page", WITH_CODE, ids=str)
def test_blocks_run_in_order_and_print_what_they_say(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}  # a reader types them into one session
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)
        printed = capsys.readouterr().out
        for said in re.findall(r"print\(.*#.*: (\d+)", block):
            assert said in printed


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for picture, link in re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", text):
        if link.startswith("http"):
            assert not picture, f"pictures are not fetched, got {link}"
            continue
        assert (DOCS / page).parent.joinpath(link.partition("#")[0]).exists(), link


def test_generated_pages_are_fresh():
    folders = sys.modules
    generated()
    for name in ("benchmarks", "cheaper", "house", "recipes", "reference", "results", "sharding", "speed"):
        for path, text in folders[f"pages.{name}"].pages().items():
            assert (DOCS / path).read_text(encoding="utf-8") == text, f"{path}: run python docs/make.py"


@pytest.mark.parametrize("name", NAMES)
def test_lesson_pages_and_notebooks_are_fresh_and_were_run(name):
    lesson = get(name)
    page = (DOCS / "lessons" / f"{name}.md").read_text(encoding="utf-8")
    again = f"run python docs/make.py --lessons {name}"
    assert page.startswith(f"# {lesson.title}\n\n*{lesson.question}*\n"), again
    for step in lesson.steps:
        assert not isinstance(step, str) or step in page, again
    assert "!!! failure" not in page
    stored = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    fresh = [cell.source for cell in notebook(lesson).cells]
    assert ["".join(cell["source"]) for cell in stored["cells"]] == fresh, again
    for cell in stored["cells"]:
        if cell["cell_type"] == "code":
            assert cell["execution_count"] is not None
            assert all(output["output_type"] != "error" for output in cell["outputs"])


def test_numbers_of_the_benchmark_page_are_those_of_the_files():
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict) and {"machine", "rows"} <= set(found):
            assert f"`{path.name}`" in page
            assert found["machine"]["date"] in page


def test_every_run_has_its_row_and_absent_ones_none():
    generated()
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for path in (ROOT / "benchmarks" / "results" / "runs").glob("*.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["recipe"] == "grid-completion":
            continue  # it has no accuracy; its picture is in the tutorial
        (row,) = (row for row in rows if f"| `{path.stem}`" in row)
        assert f"| {found['parameters']:,} |" in row
        for run in found["runs"]:
            if "accuracy" in run.get("test", {}):
                assert f"{100 * run['test']['accuracy']:.2f}" in row
    results = sys.modules["pages.results"]
    assert results.vision({}) == results.language({}) == results.sentiment({}, []) == ""


def run_of(recipe, model, **more):
    seconds = {"setup": 2.0, "training": 60.0, "validation": 1.0}
    runs = [{"seed": seed, "seconds": seconds, "device": "NVIDIA H200"} | more for seed in (0, 1)]
    cost = price(model, *([16] if hasattr(model, "vocab") else []))
    config = {"model": type(model).__name__.removesuffix("Config"), "config": fields_of(model, PARTS)}
    return {"recipe": recipe, "parameters": cost.parameters, "model": config, "runs": runs}


def test_a_variant_stands_behind_its_recipe_with_its_own_cost():
    generated()
    model = replace(get_recipe("shakespeare-char").task.model, vocab=65)
    scores = {"validation": {"loss": 1.45, "perplexity": 4.26, "bits_per_character": 2.092}}
    plain = run_of("shakespeare-char", model, **scores)
    change = "task.model.pattern=strided(64) | global(1)"
    pattern = parse("strided(64)")
    cheap = run_of("shakespeare-char", replace(model, pattern=pattern), **scores) | {"set": [change]}
    shown = sys.modules["pages.results"].language({"a-variant": cheap, "shakespeare-char": plain})
    first, second = shown.splitlines()[2:4]
    assert first.startswith("| `shakespeare-char` | ")
    assert second.startswith("| `a-variant`<br>`task.model.pattern=strided(64) \\| global(1)` | ")
    assert "1.4500<br>(1.4500, 1.4500)" in first
    for row, one in ((first, model), (second, replace(model, pattern=pattern))):
        assert f" {round(price(one, 256).flops / 256):,} |" in row
        # keys and values of every layer, 2 bytes each
        kept = 1024 if one is model else 65
        assert f" {2 * 2 * 6 * 384 * kept:,} |" in row


def test_flops_are_not_shown_for_a_config_that_was_not_trained():
    generated()
    model = replace(get_recipe("shakespeare-char").task.model, vocab=65)
    found = run_of("shakespeare-char", model)
    results = sys.modules["pages.results"]
    assert results.flops(found, tokens=256) == f"{price(model, 256).flops:,}"
    assert results.flops(found | {"parameters": 7}, tokens=256) == "–"


def test_pictures_of_trained_models_are_light_and_their_numbers_are_those_of_the_curves():
    page = (DOCS / "tutorials" / "look.md").read_text(encoding="utf-8")
    facts = json.loads((DOCS / "pictures" / "figures.json").read_text(encoding="utf-8"))
    for name, found in facts.items():
        kinds = (
            [name] if name == "grid-completion" else [f"{k}-{name}" for k in ("look", "hiding", "positions")]
        )
        for kind in kinds:
            path = DOCS / "pictures" / f"{kind}.png"
            assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
            assert path.stat().st_size < 300_000, path.name
            assert f"pictures/{path.name}" in page
        if "curves" in found:
            assert found["images"] >= 1000
            curves = {curve["order"]: curve["accuracy"] for curve in found["curves"]}
            third = found["shares"].index(0.3)
            words = [f"{100 * curves[order][third]:.1f} %" for order in ("most", "random", "least")]
            assert all(word in page for word in words), words
            assert curves["most"][third] < curves["random"][third]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_site_builds_and_fetches_nothing(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    fetched = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^>]*", re.IGNORECASE
    )
    for page in pages:
        assert fetched.findall(page.read_text(encoding="utf-8")) == [], page.name
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\(\s*['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")) == [], (
            sheet.name
        )


def test_search_works_on_pages_opened_from_a_folder(site, browser):
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "howto" / "offline.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("own images", delay=30)
    page.wait_for_selector(".md-search-result__item", timeout=60_000)
    found = page.query_selector(".md-search-result__link")
    assert found is not None
    assert found.get_attribute("href").partition("?")[0].endswith("/howto/own-images.html")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.close()


@pytest.mark.parametrize("name", ["results", "recipes", "comparison", "benchmarks", "howto/own-images"])
def test_pages_fit_a_narrow_screen(site, browser, name):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_every_picture_of_the_site_is_there_and_has_words(site):
    for page in site.rglob("*.html"):
        for tag in re.findall(r"<img\b[^>]*>", page.read_text(encoding="utf-8")):
            source = re.search(r"src=\"?([^\"\s>]+)", tag)
            assert source is not None
            folder = (
                site if source[1].startswith("/") else page.parent
            )  # the page of errors starts at the root
            file = folder / source[1].removeprefix("/")
            assert source[1].startswith("data:") or file.exists(), (page.name, source[1])
            assert "alt=" in tag, (page.name, tag)
