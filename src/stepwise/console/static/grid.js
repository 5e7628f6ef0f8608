// The rows of an import in a grid: only those in view are in the document, and they come from the server in pages.
// The grid keeps the focus and names the active row, because the elements of rows are used again.

const PAGE = 100;
const KEPT = 40;
const BEYOND = 8;
const REFRESH = 2000;
// Browsers draw no element that is taller; beyond it, one step of the scroll bar is more than one row.
const TALLEST = 8_000_000;
const COLUMNS = 6;
// Characters that may not fit into their column.
const LONG = 18;

/** The pages of rows that were fetched last. */
class Pages {
  constructor(address, arrived) {
    this.address = address;
    this.arrived = arrived;
    this.kept = new Map();
    this.asked = new Map();
  }

  /** The row at this position, from 1; undefined while it is not here. */
  row(position) {
    return this.kept.get(pageOf(position))?.[(position - 1) % PAGE];
  }

  /** Fetch the pages of these positions that are not here, and drop requests for others. */
  want(first, last, again = false) {
    const wanted = new Set();
    for (let page = pageOf(first); page <= pageOf(last); page += 1) wanted.add(page);
    for (const [page, control] of this.asked) if (!wanted.has(page)) control.abort();
    for (const page of wanted) if (!this.asked.has(page) && (again || !this.kept.has(page))) this.fetch(page);
  }

  async fetch(page) {
    const control = new AbortController();
    this.asked.set(page, control);
    try {
      const answer = await fetch(`${this.address}?first=${page * PAGE + 1}&count=${PAGE}`, { signal: control.signal });
      if (answer.ok) this.keep(page, await answer.json());
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
    } finally {
      this.asked.delete(page);
    }
  }

  keep(page, found) {
    this.kept.delete(page);
    this.kept.set(page, found.rows);
    while (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    this.arrived(found);
  }
}

class Grid {
  constructor(element) {
    this.element = element;
    this.space = element.querySelector(".grid-space");
    this.window = element.querySelector(".grid-window");
    this.rowHeight = element.querySelector(".grid-row").offsetHeight;
    this.pages = new Pages(element.dataset.rows, (found) => this.arrived(found));
    this.pool = [];
    this.total = Number(element.getAttribute("aria-rowcount")) - 1;
    this.final = false;
    this.active = 1;
    this.drawing = 0;
    this.resting = 0;
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    element.addEventListener("keydown", (event) => this.pressed(event));
    element.addEventListener("mousedown", (event) => this.clicked(event));
    new ResizeObserver(() => this.resized()).observe(element);
    setInterval(() => this.refresh(), REFRESH);
    this.resized();
  }

  get rowsInView() {
    return Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
  }

  /** How many rows a full height of the space stands for; more rows than fit make a step of it larger. */
  get height() {
    return Math.min(this.total * this.rowHeight, TALLEST);
  }

  get scale() {
    const room = this.height - this.rowsInView * this.rowHeight;
    return room > 0 ? ((this.total - this.rowsInView) * this.rowHeight) / room : 1;
  }

  resized() {
    const count = Math.ceil(this.element.clientHeight / this.rowHeight) + 2 * BEYOND;
    while (this.pool.length < count) this.pool.push(this.window.appendChild(newRow()));
    while (this.pool.length > count) this.pool.pop().remove();
    this.space.style.height = `${this.height}px`;
    this.draw();
  }

  draw() {
    if (!this.drawing) this.drawing = requestAnimationFrame(() => this.drawn());
  }

  drawn() {
    this.drawing = 0;
    const top = this.element.scrollTop;
    const exact = (top * this.scale) / this.rowHeight;
    const first = Math.max(1, Math.min(Math.floor(exact) + 1 - BEYOND, this.total - this.pool.length + 1));
    this.window.style.transform = `translateY(${top - (exact - (first - 1)) * this.rowHeight}px)`;
    this.pool.forEach((row, index) => this.fill(row, first + index));
    this.element.setAttribute("aria-activedescendant", this.rowAt(this.active)?.id ?? "");
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.want(), 60);
  }

  fill(row, position) {
    const shown = position <= this.total;
    const found = shown ? this.pages.row(position) : undefined;
    row.hidden = !shown;
    if (!shown || (row.position === position && row.found === found && row.active === (position === this.active))) return;
    Object.assign(row, { position, found, active: position === this.active });
    row.id = `row-${position}`;
    row.setAttribute("aria-rowindex", position + 1);
    row.setAttribute("aria-selected", row.active);
    row.classList.toggle("failed", found?.state === "failed");
    texts(position, found).forEach((text, column) => write(row.children[column], text));
    link(row.children[2], found);
  }

  rowAt(position) {
    return this.pool.find((row) => !row.hidden && row.position === position);
  }

  inView() {
    const shown = this.pool.filter((row) => !row.hidden);
    return shown.length ? [shown[0].position, shown[shown.length - 1].position] : [1, PAGE];
  }

  want(again = false) {
    this.pages.want(...this.inView(), again);
  }

  arrived(found) {
    this.final = found.final;
    if (found.total !== this.total) {
      this.total = found.total;
      this.element.setAttribute("aria-rowcount", this.total + 1);
      this.resized();
    }
    this.draw();
  }

  /** While the import runs, rows in view get their outcomes. */
  refresh() {
    if (!this.final && !document.hidden) this.want(true);
  }

  go(position) {
    this.active = Math.max(1, Math.min(position, this.total));
    const top = ((this.active - 1) * this.rowHeight) / this.scale;
    const page = this.rowsInView * this.rowHeight;
    const from = this.element.scrollTop;
    const exact = (from * this.scale) / this.rowHeight + 1;
    if (this.active < exact) this.element.scrollTop = top;
    else if (this.active > exact + this.rowsInView - 1) this.element.scrollTop = top - (page - this.rowHeight) / this.scale;
    this.draw();
  }

  pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: this.rowsInView, PageUp: -this.rowsInView }[event.key];
    if (step) this.go(this.active + step);
    else if (event.key === "Home") this.go(1);
    else if (event.key === "End") this.go(this.total);
    else if (event.key === "Enter") this.rowAt(this.active)?.querySelector("a")?.click();
    else return;
    event.preventDefault();
  }

  clicked(event) {
    const row = event.target.closest("[role=row]");
    if (!row?.position) return;
    this.active = row.position;
    this.draw();
  }

  async nextFailed(code, column) {
    const query = new URLSearchParams({ after: this.passed ? this.active : 0, code, column });
    const answer = await fetch(`${this.element.dataset.nextFailed}?${query}`);
    const { position } = answer.ok ? await answer.json() : { position: null };
    this.passed = position !== null;
    say(position === null ? "No further row; the next search starts at the first." : `Row ${position}.`);
    if (position === null) return;
    this.go(position);
    this.element.focus();
  }
}

function pageOf(position) {
  return Math.floor((position - 1) / PAGE);
}

function newRow() {
  const row = document.createElement("div");
  row.className = "grid-row";
  row.setAttribute("role", "row");
  for (let column = 1; column <= COLUMNS; column += 1) {
    const cell = row.appendChild(document.createElement("span"));
    cell.setAttribute("role", "gridcell");
    cell.setAttribute("aria-colindex", column);
  }
  return row;
}

function texts(position, found) {
  if (!found) return [position, "…", "", "", "", ""];
  const number = found.row && found.row !== position ? `${position} (row ${found.row})` : position;
  return [number, found.state, found.sk, found.version || "", [found.code, found.column].join(" ").trim(), found.message];
}

function write(cell, text) {
  if (cell.textContent === String(text)) return;
  cell.textContent = text;
  cell.title = String(text).length > LONG ? text : "";
}

function link(cell, found) {
  if (!found?.page) return;
  const anchor = document.createElement("a");
  anchor.href = found.page;
  anchor.tabIndex = -1;
  anchor.textContent = found.sk;
  cell.replaceChildren(anchor);
}

function say(sentence) {
  document.getElementById("grid-said").textContent = sentence;
}

const grid = new Grid(document.getElementById("grid"));
const wanted = document.getElementById("goto");

function goTo() {
  if (!/^[0-9]+$/.test(wanted.value)) return;
  grid.go(Number(wanted.value));
  grid.passed = true;
  grid.element.focus();
  say(`Row ${grid.active}.`);
}

document.getElementById("goto-button").addEventListener("click", goTo);
wanted.addEventListener("keydown", (event) => event.key === "Enter" && goTo());
// The table of errors is replaced while the import runs.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-next]");
  if (button) grid.nextFailed(button.dataset.code, button.dataset.column);
});
if (wanted.value) goTo();
