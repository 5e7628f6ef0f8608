// Live parts, dialogs, and views of one page that change without loading it again. Every page works without this, too.
import { morph } from "./morph.js";

const body = document.body;
const away = document.getElementById("away");
const dialog = document.getElementById("dialog");
const said = document.getElementById("said");
const SILENT = "The console does not answer. It is asked again every second.";
let stream = null;

/** Follow the page's parts. A hidden tab does not, as a browser opens six streams of a site at most. */
function follow() {
  if (stream || document.hidden || !("live" in body.dataset)) return;
  stream = new EventSource(`/events?page=${encodeURIComponent(body.dataset.address)}`);
  stream.addEventListener("parts", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("error", () => tellAway(SILENT));
}

function leave() {
  stream?.close();
  stream = null;
}

function show(parts) {
  for (const [name, text] of Object.entries(parts)) {
    if (name === "away") tellAway(text && `${text}. What you see is from before; the page goes on by itself.`);
    else if (document.getElementById(name)) morph(document.getElementById(name), text);
  }
  if (!parts.away) tellAway("");
  if (!parts.away && document.querySelector("[data-until-back]")) location.reload();
  document.dispatchEvent(new CustomEvent("stepwise:shown", { detail: Object.keys(parts) }));
}

function tellAway(text) {
  if (away.textContent !== text) away.textContent = text;
  away.hidden = !text;
}

/** Say a sentence to a screen reader. */
export function say(sentence) {
  said.textContent = sentence;
}

async function ask(link) {
  const address = new URL(link.href);
  if (!address.searchParams.get("back")) address.searchParams.set("back", body.dataset.address);
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  dialog.replaceChildren(...page.querySelector("main").childNodes);
  dialog.showModal();
}

/** Show another view of this page: the same address with another query. */
async function turn(address) {
  leave();
  try {
    const answer = await fetch(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    history.pushState(null, "", address);
    body.dataset.address = page.body.dataset.address;
    morph(document.getElementById("main"), page.getElementById("main").innerHTML);
  } finally {
    follow();
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if ("change" in link.dataset) {
    event.preventDefault();
    ask(link).catch(() => tellAway(SILENT));
  } else if ("close" in link.dataset && dialog.open) {
    event.preventDefault();
    dialog.close();
  } else if ("turn" in link.dataset) {
    event.preventDefault();
    // The href of a link in a picture is no string.
    turn(new URL(link.getAttribute("href"), location.href))
      .then(() => document.getElementById(link.dataset.turn)?.focus())
      .catch(() => tellAway(SILENT));
  }
});
dialog.addEventListener("close", () => dialog.replaceChildren());
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
addEventListener("pagehide", leave);
addEventListener("pageshow", follow);
addEventListener("popstate", () => location.reload());
follow();
