// Makes an element's content equal to new HTML, and keeps what did not change: focus, scroll, selection, open details.

/** Replace the content of an element. html: from this console's server. */
export function morph(element, html) {
  const made = new DOMParser().parseFromString(`<body>${html}`, "text/html").body;
  children(element, made);
}

function children(old, wanted) {
  const known = keyed(old);
  let at = old.firstChild;
  for (const next of [...wanted.childNodes]) {
    const same = known.get(key(next)) ?? (at && !key(at) && alike(at, next) ? at : null);
    if (same && alike(same, next)) {
      if (same !== at) old.insertBefore(same, at);
      else at = at.nextSibling;
      node(same, next);
    } else {
      old.insertBefore(document.adoptNode(next), at);
    }
  }
  while (at) {
    const rest = at;
    at = at.nextSibling;
    rest.remove();
  }
}

function node(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  if (old.isEqualNode(wanted)) return;
  attributes(old, wanted);
  children(old, wanted);
}

function attributes(old, wanted) {
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !(name === "open" && old.localName === "details")) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function alike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && key(one) === key(other);
}

function key(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "";
}

function keyed(parent) {
  return new Map([...parent.childNodes].filter(key).map((child) => [key(child), child]));
}
