"""The web console: what a stack does, live, and the changes that an operator may make.

One process serves one stack, local or on AWS, to browsers on this machine. The server renders HTML; the browser gets
a style sheet and a few modules of `static/`. Everything is read and changed through `operations/`, as by the command
line.

| module | holds |
| --- | --- |
| `site` | the lists of all pages and changes; a new module is added here |
| `pages` | `Page` and `Visit`: what a page is, and what its view is given |
| `changes` | `Change` and `Field`: a button that asks first |
| `live` | one poller for each address that a browser shows, however many tabs show it |
| `connection` | the stack, described again from time to time, as it may change or go away |
| `security` | which requests are answered, and the headers of every answer |
| `redaction` | the one function that documents pass before they are shown |
| `rendering` | Jinja, with the filters and macros (`templates/ui.html`) of all pages |
| `reader`, `answers`, `page_routes`, `change_routes` | how a request is answered |
| `app`, `server` | the whole; the socket |

**Add a page.** Write a module with a view, a function of a `Visit` that returns what the template needs. It is called
in a thread, so it may block. It may raise what `operations/` raises: `pages.answer_to` makes a page of it. Then:

    PAGES = (Page("/stock", "stock.html", view, title="Stock", needs=("InventoryTable",)),)

`title` puts it into the navigation. `needs`: outputs without which the page does not exist. The template extends
`base.html` and fills `title` and `main`. Write `{{ ui.status(word) }}`, `{{ ui.when(time) }}` and so on; nothing needs
`|safe`. Inline scripts and `style` attributes do not work, by the content security policy.

**Add a live part.** Put a block named `live_NAME` into an element with that id:

    <section id="live_rows">{% block live_rows %}...{% endblock %}</section>

and pass `live=True` to the `Page`. While a browser shows the page, its view runs four times a second (every five
seconds on AWS), and the blocks that changed replace the content of their elements. Give rows an `id` or a `data-key`,
so that focus and scroll stay. Keep the view cheap, and whatever it remembers between two calls bounded.

**Add a change.** Write a `Change` and link to it with `{{ ui.change("retry-command", "Retry", key=key) }}`: the
browser opens a dialog with what will happen, the same command of `./stepwise`, who does it, and the fields. Its `run`
calls `operations/` with the checked values and returns a sentence. A `CommandError` becomes an error in the dialog.
`run` must not read again what the dialog names, such as the version to skip: `seen` puts that into the form.
Nothing is rendered where changes are not allowed (AWS without --allow-changes), and nothing is accepted there.

**Tests.** Pure parts: tests/unit/console. Pages and buttons: tests/browser, in Chromium, on a local stack.
"""
