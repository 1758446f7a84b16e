// Elements are made of texts and attributes only: nothing here reads HTML, so a text of a plugin or a user
// stays a text.

// h makes an element. A property that is a function handles an event, class names may be a list, and vars are custom
// properties of its style. Children are nodes, texts, or lists of them; null and false are left out.
export function h(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    const text = Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
    if (text === null || text === undefined || text === false || text === "") continue;
    if (typeof text === "function") e[name] = text;
    else if (name === "vars") for (const [v, x] of Object.entries(text)) e.style.setProperty("--" + v, x);
    else e.setAttribute(name, text);
  }
  e.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return e;
}

const handlers = ["onclick", "oninput", "onkeydown"];

// patch makes old like next, with as few changes as possible, so that the focus and the scroll position stay.
// Elements with the same data-key are the same.
export function patch(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name === "style") old.style.cssText = next.style.cssText; // the policy forbids to set the attribute
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of handlers) old[name] = next[name];
  patchChildren(old, next);
}

function patchChildren(old, next) {
  const keyed = new Map();
  for (const c of old.children) if (c.dataset.key) keyed.set(c.dataset.key, c);
  let at = old.firstChild;
  for (const c of [...next.childNodes]) {
    const key = c.dataset?.key;
    const same = key ? keyed.get(key) : at && !at.dataset?.key && at.nodeName === c.nodeName ? at : null;
    if (!same) {
      old.insertBefore(c, at);
      continue;
    }
    if (same !== at) old.insertBefore(same, at);
    else at = at.nextSibling;
    patch(same, c);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// table makes a table with columns { head, number, wide, sort }. A row is { key, href, cells, class }; the first cell links to
// href. Columns that are wide are left out beside details. sort is { by, down, set }.
export function table(caption, columns, rows, sort) {
  const place = c => [c.number && "number", c.wide && "wide", c.grow && "grow", c.some && "some"];
  return h("div", { class: "scroll" },
    h("table", null,
      h("caption", null, caption),
      h("thead", null, h("tr", null, columns.map((c, i) => h("th", {
        scope: "col", class: place(c), "aria-sort": sort && sort.by === i ? (sort.down ? "descending" : "ascending") : null,
      }, sort && c.sort ? h("button", { onclick: () => sort.set(i) }, c.head) : c.head)))),
      h("tbody", { onkeydown: arrows }, rows.map(r => h("tr", { "data-key": r.key, class: [r.class, r.selected && "selected"] },
        r.cells.map((cell, i) => i === 0
          ? h("th", { scope: "row", class: place(columns[i]) }, r.href ? h("a", { href: r.href, "aria-current": r.selected ? "true" : null }, cell) : cell)
          : h("td", { class: place(columns[i]) }, cell)))))));
}

// arrows moves the focus from row to row.
function arrows(e) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!step || !e.target.closest("th[scope=row]")) return;
  const links = [...e.currentTarget.querySelectorAll("th[scope=row] a")];
  const to = links[links.indexOf(e.target) + step];
  if (to) {
    to.focus();
    e.preventDefault();
  }
}

// figures makes a row of numbers with labels.
export const figures = (label, list) => h("dl", { class: "figures", "aria-label": label },
  list.map(([name, value, more]) => h("div", null, h("dt", null, name), h("dd", { class: value === "0" ? "quiet" : null }, value, more ? h("small", null, " ", more) : null))));

// bar shows a share between 0 and 1 beside its words.
export const bar = (share, words) => h("span", { class: "amount" },
  h("span", { class: ["bar", share > 0.9 && "full"], "aria-hidden": "true", vars: { share: Math.min(1, share || 0).toFixed(3) } }), words);

export const section = (title, ...children) => h("section", null, h("h2", null, title), ...children);

export const nothing = text => h("p", { class: "nothing" }, text);
