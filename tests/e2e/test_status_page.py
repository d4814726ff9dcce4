"""The status page in a real browser."""

from __future__ import annotations

import dataclasses
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from syncd.web import WebServer, create_app
from tests.unit.web import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Dialog, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATHS = ("/", "/syncs/syncd/shop-prod", "/syncs/syncd/shop-staging", "/syncs/syncd/billing-prod", "/nowhere")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("there is no chromium on this machine (apt-get install chromium)")
    assert CHROMIUM, "chromium has to be there in CI (apt-get install chromium)"
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - slow to import, and only of use with a browser

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def board() -> sample.FakeBoard:
    return sample.believable()


@pytest.fixture
def server(board: sample.FakeBoard) -> Iterator[WebServer]:
    server = WebServer(create_app(board, CollectorRegistry(), clock=lambda: sample.NOW))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complains of: errors of scripts, and what the content security policy forbids."""
    return []


@pytest.fixture
def open_page(browser: Browser, server: WebServer, complaints: list[str]) -> Iterator[Any]:
    contexts = []

    def answer(dialog: Dialog) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    def open_at(path: str, *, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", answer)
        page.clock.install(time=sample.NOW)
        page.goto(server.url + path)
        return page

    yield open_at
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("path", PATHS)
def test_a_page_fits_its_width(open_page: Any, path: str, width: int) -> None:
    page = open_page(path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.mark.parametrize("path", PATHS[:-1])
def test_the_browser_has_nothing_to_complain_of(open_page: Any, path: str, complaints: list[str]) -> None:
    page = open_page(path)
    assert page.evaluate("getComputedStyle(document.querySelector('.top')).display") == "flex"
    assert complaints == []


@pytest.mark.parametrize("path", ["/", "/syncs/syncd/victim"])
def test_no_script_from_git_or_the_cluster_runs(
    open_page: Any, board: sample.FakeBoard, path: str, complaints: list[str]
) -> None:
    board.syncs = (sample.hostile(),)
    page = open_page(path)
    page.clock.run_for(6_000)
    assert page.locator("img").count() == 1
    assert page.evaluate("document.scripts.length") == 1
    assert complaints == []


def test_from_the_list_to_a_sync_and_back(open_page: Any) -> None:
    page = open_page("/")
    page.locator(".chip", has_text="OutOfSync").click()
    assert page.locator(".syncs .title").all_inner_texts() == ["shop-prod", "shop-staging"]
    page.get_by_role("link", name="shop-staging").click()
    assert page.locator(".drifts .open").count() == 2
    page.get_by_role("link", name="Syncs", exact=True).click()
    assert page.locator(".syncs .title").count() == 12


def test_the_filter_by_name_keeps_the_other_filters(open_page: Any) -> None:
    page = open_page("/?state=Synced")
    page.get_by_role("searchbox").fill("shop")
    page.get_by_role("button", name="Filter").click()
    assert page.locator(".syncs .title").all_inner_texts() == ["shop-dev"]


def test_a_change_shows_without_a_reload_and_leaves_open_what_is_open(
    open_page: Any, board: sample.FakeBoard, complaints: list[str]
) -> None:
    page = open_page("/syncs/syncd/shop-prod")
    details = page.locator("#objects details").first
    details.locator("summary").click()
    page.get_by_role("searchbox").fill("half a wo")
    page.evaluate("window.scrollTo(0, 300); window.stayed = true")
    changed = dataclasses.replace(board.syncs[2], inventory_size=4711)
    board.syncs = (*board.syncs[:2], changed, *board.syncs[3:])
    page.clock.run_for(6_000)
    page.get_by_text("4711").wait_for(timeout=30_000)
    assert page.evaluate("[window.stayed, window.scrollY]") == [True, 300]
    assert page.locator("#objects details").first.get_attribute("open") is not None
    assert page.get_by_role("searchbox").input_value() == "half a wo"
    assert complaints == []


def test_who_uses_the_keyboard_stays_where_they_are_when_the_page_changes(
    open_page: Any, board: sample.FakeBoard
) -> None:
    def change(size: int) -> None:
        board.syncs = tuple(dataclasses.replace(status, inventory_size=size) for status in board.syncs)
        page.clock.run_for(6_000)
        page.get_by_text(str(size)).first.wait_for(timeout=30_000)

    def focused() -> str:
        return str(page.evaluate("document.activeElement.innerText")).strip()

    def tab_to(text: str) -> None:
        for _ in range(60):
            if focused().startswith(text):
                return
            page.keyboard.press("Tab")
        pytest.fail(f"the keyboard does not lead to {text}; it is at {focused()}")

    page = open_page("/")
    tab_to("shop-staging")
    change(4711)
    assert focused() == "shop-staging"
    page.keyboard.press("Enter")
    page.wait_for_url("**/shop-staging")
    tab_to("ConfigMap shop/settings")
    page.keyboard.press("Enter")
    change(4712)
    assert focused().startswith("ConfigMap shop/settings")
    assert page.locator(".drifts details[open]").count() == 1


def test_a_page_that_gets_no_answer_says_that_it_is_old(open_page: Any, server: WebServer) -> None:
    page = open_page("/")
    server.stop()
    assert page.locator("#stale").is_hidden()
    for _ in range(6):
        page.clock.run_for(5_000)
        page.wait_for_timeout(50)
    page.get_by_text("this page is old").wait_for(timeout=30_000)


def test_the_page_follows_the_colour_scheme_of_the_system(open_page: Any) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (open_page("/", color_scheme=scheme).evaluate(background) for scheme in ("light", "dark"))
    assert light != dark


def test_hundreds_of_syncs_stay_readable(open_page: Any, board: sample.FakeBoard) -> None:
    board.syncs += tuple(sample.healthy(f"team-{number:03}") for number in range(500))
    page = open_page("/")
    assert page.locator(".syncs .title").count() == 512
    assert page.locator(".syncs .title").first.inner_text() == "billing-prod"
