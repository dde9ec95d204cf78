"""What a reader sees: MLflow's pages and the board's own page in a real browser.

Needs Chromium and its driver (Debian: chromium, chromium-driver) and selenium. The environment variable
HARNESS_PICTURES names a folder that gets pictures of every page, to be looked at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard import board
from harness.leaderboard.export import export
from harness.tracking import deep_link, sync
from harness.tracking.view import run_link
from tests.leaderboard.fixtures import GRPO, write_demo
from tests.tracking.conftest import MlflowServer
from tests.tracking.test_samples import write_samples

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--hide-scrollbars", "--window-size=1600,1000")  # fmt: skip
PATIENCE = 120  # seconds for a page of MLflow on a crowded machine
HEADS = "thead th"
NAMES = "tbody tr:not([hidden]) th"

if CHROMIUM is None or DRIVER is None:
    pytest.skip("no Chromium with its driver on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A server with the demo's board, the board, and what was synchronised."""
    folder = tmp_path_factory.mktemp("demo")
    runs = write_demo(folder / "runs" / "demo")
    for trial in runs.glob("*/seed-*"):
        write_samples(trial, answer="7", reward=1.25)
    with MlflowServer(folder / "store", 5500) as server:
        made = board(runs)
        yield server.address, made, sync(made, runs, server.address)


@pytest.fixture(scope="module")
def browser():
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def picture(browser, tmp_path) -> Callable[[str], None]:
    """Take a picture under a name."""
    folder = Path(os.environ.get("HARNESS_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)

    def take(name: str) -> None:
        path = folder / f"{name}.png"
        assert browser.save_screenshot(str(path))
        assert path.stat().st_size > 10_000

    return take


def wait(browser: Any, what: Callable[[], Any]) -> Any:
    """What becomes true within PATIENCE; a part of the page that is drawn anew meanwhile is asked again."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    ignored = (NoSuchElementException, StaleElementReferenceException)
    return WebDriverWait(browser, PATIENCE, ignored_exceptions=ignored).until(lambda _: what())


def find(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)


def scheme(browser: Any, value: str) -> None:
    """What the system prefers, light or dark."""
    features = [{"name": "prefers-color-scheme", "value": value}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def size(browser: Any, width: int, height: int, *, phone: bool = False) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_the_deep_link_shows_a_sorted_table_with_score_interval_and_cost(shown, browser, picture):
    address, made, done = shown
    browser.get(deep_link(done.experiment_id, address))
    wait(browser, lambda: find(browser, '[row-index="8"] a'))
    text = browser.find_element("tag name", "body").text
    for word in ("score", "score interval", "difference", "verdict", "waste", "0.4693", "[0.430, 0.508]", "better"):
        assert word in text, word
    names = [row.method for row in made.rows]
    for place, name in enumerate(names):
        assert name.startswith(find(browser, f'[row-index="{place}"] a')[0].text.rstrip("\N{HORIZONTAL ELLIPSIS}."))
    picture("mlflow-table")


def test_the_note_shows_the_board_and_leads_to_a_run(shown, browser, picture):
    address, made, done = shown
    browser.get(deep_link(done.experiment_id, address))
    wait(browser, lambda: find(browser, '[data-component-id$="metadata_editor.expand_button"]'))[0].click()
    first = made.rows[0].method
    link = wait(browser, lambda: [a for a in find(browser, "td a") if a.text == first])[0]
    picture("mlflow-note")
    link.click()
    browser.switch_to.window(wait(browser, lambda: browser.window_handles[1:])[0])  # it opens beside the note
    wait(browser, lambda: done.runs[f"method:{first}"] in browser.current_url)
    wait(browser, lambda: first in browser.find_element("tag name", "body").text)
    assert "workflowType=machine_learning" in browser.current_url
    picture("mlflow-run")
    browser.close()
    browser.switch_to.window(browser.window_handles[0])


def test_mlflow_shows_the_sampled_completions(shown, browser, picture):
    address, made, done = shown
    key = f"method:{made.rows[0].method}"
    browser.get(run_link(done.experiment_id, done.runs[key], address, "samples.json"))
    wait(browser, lambda: "completion" in browser.find_element("tag name", "body").text)
    text = browser.find_element("tag name", "body").text
    assert {"prompt", "gold", "reward", "1.25"} <= set(text.split())
    picture("mlflow-samples")


def test_mlflow_shows_the_page_which_sorts_there(shown, browser, picture):
    address, made, done = shown
    browser.get(run_link(done.experiment_id, done.runs["board"], address, "leaderboard.html"))
    frame = wait(browser, lambda: find(browser, "iframe.mlflow-html-iframe"))[0]
    browser.switch_to.frame(frame)
    wait(browser, lambda: find(browser, NAMES))
    assert [name.get_attribute("data-value") for name in find(browser, NAMES)] == [row.method for row in made.rows]
    assert find(browser, "tbody a") == []  # a frame that may open nothing
    find(browser, f"{HEADS} button")[0].click()
    assert find(browser, HEADS)[0].get_attribute("aria-sort") == "ascending"
    found = [name.get_attribute("data-value") for name in find(browser, NAMES)]
    assert found == sorted(found)
    find(browser, "#theme")[0].click()  # although the frame has no memory
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    browser.switch_to.default_content()
    picture("mlflow-page")


@pytest.fixture
def page(shown, browser, tmp_path) -> str:
    """The exported page, as a file."""
    _, made, _ = shown
    export(made, tmp_path / "board")
    browser.get_log("browser")
    return (tmp_path / "board" / "leaderboard.html").as_uri()


def test_the_page_sorts_by_click_and_keyboard_and_explains_itself(shown, page, browser, picture):
    from selenium.webdriver.common.keys import Keys

    _, made, _ = shown
    size(browser, 1400, 900)
    browser.get(page)
    buttons = find(browser, f"{HEADS} button")
    score = next(button for button in buttons if button.text == "score")
    score.click()
    values = [float(cell.get_attribute("data-value")) for cell in find(browser, "tbody td:nth-child(3)")]
    assert values == sorted(values, reverse=True)
    score.send_keys(Keys.ENTER)
    values = [float(cell.get_attribute("data-value")) for cell in find(browser, "tbody td:nth-child(3)")]
    assert values == sorted(values)
    score.send_keys(Keys.ARROW_RIGHT)
    assert browser.switch_to.active_element.text == "difference"
    tip = browser.find_element("id", "tip")
    assert "paired by seed" in tip.text
    picture("page-tip")
    browser.find_element("id", "find").send_keys("GSPO")
    assert [name.get_attribute("data-value") for name in find(browser, NAMES)] == ["gspo"]
    browser.find_element("id", "find").clear()
    shown_before = len([head for head in find(browser, HEADS) if head.is_displayed()])
    browser.find_element("id", "every").click()
    assert len([head for head in find(browser, HEADS) if head.is_displayed()]) > shown_before
    assert {mark.text for mark in find(browser, ".mark")} == {"baseline", "control", "experimental", "inert"}
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    fetched = browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []
    assert made.baseline == GRPO


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_the_page_is_readable_at_any_width_in_light_and_dark(page, browser, picture, width):
    size(browser, width, 900, phone=width < 500)
    for preferred, other in (("light", "dark"), ("dark", "light")):
        scheme(browser, preferred)
        browser.get(page)
        browser.execute_script("localStorage.clear()")
        browser.get(page)
        assert brightness(browser) == preferred
        picture(f"page-{width}-{preferred}")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        first = find(browser, NAMES)[0]
        before = first.rect["x"]
        browser.execute_script("document.querySelector('.scroll').scrollLeft = 400")
        assert first.rect["x"] == pytest.approx(before, abs=1)
        assert first.rect["width"] < width / 2
        theme = browser.find_element("id", "theme")
        assert theme.text.lower() == other
        theme.click()
        assert brightness(browser) == other
        browser.get(page)
        assert brightness(browser) == other  # it remembers
    browser.execute_script("localStorage.clear()")
    scheme(browser, "light")


def brightness(browser: Any) -> str:
    """Whether the page is light or dark."""
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return "light" if sum(map(int, colour[4:-1].split(","))) > 384 else "dark"
