// Brings the page up to date in place: scroll position, opened details, text being typed or selected all stay.
"use strict";

const SECONDS = 5;
const PATIENCE = 15;
let answered = Date.now();

// What stands in a fresh section for the link or summary that has the focus: who uses the keyboard stays where they are.
function twinOf(element, next) {
  if (element.matches("summary")) return next.querySelector(`[id="${CSS.escape(element.parentElement.id)}"] > summary`);
  const href = element.getAttribute("href");
  return href && next.querySelector(`a[href="${CSS.escape(href)}"]`);
}

function update(fresh) {
  for (const section of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(section.id);
    if (!next || section.contains(document.activeElement) && document.activeElement.matches("input")) continue;
    for (const details of section.querySelectorAll("details[id]")) {
      const twin = next.querySelector(`[id="${CSS.escape(details.id)}"]`);
      if (twin) twin.open = details.open;
    }
    if (section.innerHTML === next.innerHTML) continue;
    const focused = section.contains(document.activeElement) && twinOf(document.activeElement, next);
    section.replaceWith(document.adoptNode(next));
    if (focused) focused.focus({ preventScroll: true });
  }
  document.title = fresh.title;
}

function sayWhetherStale() {
  const age = Math.round((Date.now() - answered) / 1000);
  const stale = document.getElementById("stale");
  stale.hidden = age < PATIENCE;
  stale.textContent = `No answer for ${age} s: this page is old`;
}

async function refresh() {
  const reading = !document.getSelection().isCollapsed;
  if (!document.hidden && !reading) {
    try {
      const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(SECONDS * 2000) });
      if (answer.ok) {
        update(new DOMParser().parseFromString(await answer.text(), "text/html"));
        answered = Date.now();
      }
    } catch {
      // The next try may succeed; until then the page says how old it is.
    }
    sayWhetherStale();
  }
  setTimeout(refresh, SECONDS * 1000);
}

setTimeout(refresh, SECONDS * 1000);
