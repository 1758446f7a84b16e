import { h, patch } from "./dom.js";
import { enter, ask } from "./data.js";
import { clock } from "./format.js";
import * as views from "./views.js";

// Answers are asked for again so often, in milliseconds. A list of all nodes is large.
const every = 2000;

const tabs = ["queue", "decisions", "nodes", "plugins"];
const state = { answers: new Map(), of: {}, overview: null, paused: false, error: "" };

// address splits #/VIEW/REST.
function address() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return Object.hasOwn(views, name) ? { name, rest } : { name: "queue", rest: [] };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function show() {
  const { name, rest } = address();
  const view = views[name];
  const own = state.of[name] ??= { filter: "", sort: null };
  patch(document.getElementById("header"), header(view.under ?? name));
  patch(document.getElementById("status"), problems());
  const paths = view.asks(rest);
  if (!state.overview || !state.answers.has(paths[0])) return;
  const context = { ...own, rest, overview: state.overview, now: state.overview.now, set: change => { Object.assign(own, change); show(); } };
  const content = view.show(paths.map(p => state.answers.get(p)), context);
  const focused = document.activeElement;
  patch(document.getElementById("main"), h("main", { id: "main", tabindex: "-1" }, h("div", { "data-key": name, class: ["view", name] }, content)));
  const filter = document.getElementById("filter");
  if (filter && filter !== focused && filter.value !== own.filter) filter.value = own.filter;
  document.title = (rest.length ? rest.join("/") : view.title) + " · Berth";
}

// problems says why nothing is new, or what of the scheduler fails.
function problems() {
  const lines = state.error ? [state.error] : state.overview?.problems ?? [];
  return h("p", { id: "status", role: "status", class: lines.length ? "alarm" : null }, lines.join("\n"));
}

function header(current) {
  const o = state.overview;
  return h("header", { id: "header" },
    h("span", { class: "mark" }, "Berth"),
    h("nav", { "aria-label": "Views" }, tabs.map(name => h("a", { href: "#/" + name, "aria-current": name === current ? "page" : null }, views[name].title))),
    o ? h("span", { class: "source" }, o.recording
      ? ["Recording ", h("b", null, o.recording), ", ended ", h("time", { datetime: o.now }, o.now.slice(0, 10) + " " + clock(o.now)), " UTC"]
      : [h("span", { class: ["dot", state.error || state.paused ? "off" : null], "aria-hidden": "true" }), state.error ? "no answer" : state.paused ? "paused" : "live", " · ", h("time", { datetime: o.now }, clock(o.now)), " UTC"]) : null,
    o && !o.recording ? h("button", { "aria-pressed": state.paused ? "true" : "false", onclick: () => { state.paused = !state.paused; show(); refresh(); } }, "Pause") : null);
}

let running = 0;

// refresh asks for what the view shows, and shows it, unless the view has changed meanwhile.
async function refresh() {
  const turn = ++running;
  const { name, rest } = address();
  const paths = views[name].asks(rest);
  const [overview, ...answers] = await Promise.allSettled(["overview", ...paths].map(ask));
  if (turn !== running) return;
  state.error = overview.status === "rejected" ? overview.reason.message : answers[0].status === "rejected" && name !== "pods" ? answers[0].reason.message : "";
  if (overview.status === "fulfilled") state.overview = overview.value;
  paths.forEach((path, i) => {
    if (answers[i].status === "fulfilled") state.answers.set(path, answers[i].value);
    else if (i > 0 || name === "pods") state.answers.set(path, { error: answers[i].reason.message });
  });
  for (const path of [...state.answers.keys()].slice(0, -20)) if (!paths.includes(path)) state.answers.delete(path);
  show();
}

// live refreshes while somebody looks.
async function live() {
  for (;;) {
    if (!document.hidden && !state.paused) await refresh();
    await new Promise(done => setTimeout(done, state.overview?.recording ? 60 * every : address().name === "nodes" ? 5 * every : every));
  }
}

window.addEventListener("hashchange", () => {
  show();
  refresh().then(() => document.querySelector("aside h1 a, aside .close")?.scrollIntoView({ block: "nearest" }));
});

document.querySelector(".skip").onclick = e => {
  e.preventDefault(); // the address is of a view
  document.getElementById("main").focus();
};

try {
  await enter();
} catch (e) {
  state.error = e.message;
}
show();
if (!state.error) live();
