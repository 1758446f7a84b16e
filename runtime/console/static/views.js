import { h, table, section, figures, bar, nothing } from "./dom.js";
import { number, short, duration, age, amount, percent, plural, camel } from "./format.js";
import { attempt, decisions as listed, sign, podLink } from "./attempt.js";

// A view says what it asks for, and shows the answers: show(answers, context), where context has now, the
// rest of the address, the text of the filter, how the table is sorted, and set to change the last two.

const places = [
  ["active", "Ready", "busy"], ["backoff", "Backoff", "warn"], ["error-backoff", "After errors", "bad"], ["unschedulable", "Unschedulable", "warn"],
  ["gated", "Gated", "quiet"], ["waiting", "At Permit", "busy"], ["binding", "Binding", "busy"], ["in-flight", "Being tried", "busy"],
];
const placeOf = name => places.find(p => p[0] === name) ?? [name, name, "quiet"];

const finds = (filter, ...texts) => filter.toLowerCase().split(/\s+/).every(w => texts.join(" ").toLowerCase().includes(w));

const search = (c, label) => h("input", {
  id: "filter", type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", oninput: e => c.set({ filter: e.target.value }),
});

// most rows of a table are shown; a filter finds the others.
const most = 300;

const beside = (list, details) => h("div", { class: ["columns", details && "split"] }, h("div", { class: "list" }, ...list), details ? h("aside", { "aria-label": "Details" }, ...details) : null);

export const queue = {
  title: "Queue",
  asks: () => ["queue"],
  show([q], c) {
    const by = new Map();
    for (const p of q.pods) for (const plugin of p.plugins ?? []) by.set(plugin, (by.get(plugin) ?? 0) + 1);
    const found = q.pods.filter(p => finds(c.filter, p.namespace + "/" + p.name, p.place, placeOf(p.place)[1], p.profile, ...(p.plugins ?? []), p.reason ?? ""));
    const holders = [...by].sort((a, b) => b[1] - a[1]).slice(0, 8);
    return beside([
      figures("Pods by place", places.slice(0, 7).map(([name, label]) => [label, number(c.overview.places[name] ?? 0)])),
      holders.length ? section("What pods wait for", h("ul", { class: "holders" }, holders.map(([plugin, n]) => h("li", { "data-key": plugin },
        h("button", { "aria-pressed": c.filter === plugin ? "true" : "false", onclick: () => c.set({ filter: c.filter === plugin ? "" : plugin }) },
          h("span", null, plugin), bar(n / q.pods.length, plural(n, "pod"))))))) : null,
      h("div", { class: "tools" }, search(c, "Filter by pod, plugin or reason"), h("span", { class: "quiet" }, found.length < q.total ? `${number(found.length)} of ${plural(q.total, "pod")}` : plural(q.total, "pod"))),
      found.length === 0 ? nothing(q.total ? "No pod matches." : "No pod waits.") : table("Pods that are not placed, the oldest first",
        [{ head: "Pod" }, { head: "Place" }, { head: "Why", grow: true }, { head: "Tries", number: true }, { head: "Priority", number: true, wide: true }, { head: "Waits", number: true }],
        found.slice(0, most).map(p => ({
          key: p.namespace + "/" + p.name, href: podLink(p.namespace, p.name),
          cells: [podName(p.namespace, p.name), sign(placeOf(p.place)[2], placeOf(p.place)[1]), why(p),
            number(p.attempts), number(p.priority), p.first ?? p.since ? h("time", { datetime: p.first ?? p.since }, age(p.first ?? p.since, c.now)) : ""],
        }))),
    ]);
  },
};

const why = p => h("span", { class: "why", title: p.reason }, (p.plugins ?? []).length ? h("b", null, p.plugins.map(camel).join(", ")) : null, p.plugins?.length && p.reason ? " " : null, p.reason ?? "");

export const decisions = {
  title: "Decisions",
  asks: rest => rest[0] ? ["decisions", "decisions/" + encodeURIComponent(rest[0])] : ["decisions"],
  show([all, x], c) {
    const found = all.filter(d => finds(c.filter, d.namespace + "/" + d.pod, d.node ?? "", d.nominated ?? "", d.message ?? "", d.profile, d.outcome ?? ""));
    const list = [
      h("div", { class: "tools" }, search(c, "Filter by pod, node or reason"), h("span", { class: "quiet" }, `${number(Math.min(found.length, most))} of the last ${plural(c.overview.decisions, "decision")}`)),
      found.length ? listed("Decisions, the latest first", found.slice(0, most), c.now, c.rest[0] ? +c.rest[0] : null, "Pod", d => podName(d.namespace, d.pod))
        : nothing(all.length ? "No decision matches." : "Nothing was decided yet."),
    ];
    if (!c.rest[0]) return beside(list);
    if (!x || x.error) return beside(list, [close("#/decisions"), nothing(x?.error ?? "…")]);
    const a = x.attempt;
    return beside(list, [close("#/decisions"), h("h1", null, h("a", { href: podLink(a.namespace, a.pod) }, podName(a.namespace, a.pod))), ...attempt(x)]);
  },
};

const podName = (namespace, name) => h("span", null, h("span", { class: "quiet" }, namespace + "/"), name);

const close = href => h("a", { class: "close", href, "aria-label": "Close details" }, "×");

export const pods = {
  title: "Pod",
  under: "queue",
  asks: rest => ["explain/" + rest.map(encodeURIComponent).join("/")],
  show([p], c) {
    const head = h("h1", null, podName(c.rest[0], c.rest[1] ?? ""));
    if (p.error) return [head, nothing(p.error)];
    const on = p.cluster?.node;
    return [
      head,
      h("p", { class: "lead" }, p.where ? ["It is ", h("b", null, p.where), ". "] : null, on ? ["It is on ", h("b", null, on), p.cluster.phase ? ` (${p.cluster.phase}). ` : ". "] : null,
        p.cluster?.deleted ? "It is being deleted. " : null, p.binding && !on ? `${plural(p.binding, "pod")} ${p.binding === 1 ? "waits" : "wait"} for the binding. ` : null, !p.last ? "No attempt of this pod is recorded." : null),
      p.failedWrite ? h("p", { class: "alarm" }, `Its writes fail and are retried (${p.failedWrite.verb} ${p.failedWrite.kind}, since `, h("time", { datetime: p.failedWrite.since }, age(p.failedWrite.since, c.now)),
        `, ${plural(p.failedWrite.tries, "attempt")}): ${p.failedWrite.error}`) : null,
      p.history?.length ? section("History", listed("Attempts, the latest first", p.history, c.now, null, "Decision", d => number(d.sequence))) : null,
      p.last ? section("Last attempt", ...attempt(p.last)) : null,
    ];
  },
};

export const nodes = {
  title: "Nodes",
  asks: () => ["nodes"],
  show([all], c) {
    const names = [];
    for (const n of all) for (const r of n.resources) if (!names.includes(r.name) && r.allocatable) names.push(r.name);
    const columns = names.slice(0, 6);
    const of = (n, name) => n.resources.find(r => r.name === name) ?? { allocatable: 0, requested: 0 };
    const total = name => all.reduce((s, n) => ({ allocatable: s.allocatable + of(n, name).allocatable, requested: s.requested + of(n, name).requested }), { allocatable: 0, requested: 0 });
    const share = r => r.allocatable ? r.requested / r.allocatable : 0;
    const found = all.filter(n => finds(c.filter, n.name, ...(n.taints ?? []), n.unschedulable ? "cordoned" : ""));
    const by = c.sort?.by ?? 0;
    found.sort((a, b) => by === 0 ? a.name.localeCompare(b.name, "en", { numeric: true }) : share(of(b, columns[by - 1])) - share(of(a, columns[by - 1])));
    if (c.sort?.down === (by === 0)) found.reverse();
    return beside([
      figures("Requested of what all nodes have", [["Nodes", number(all.length)], ...columns.map(name => {
        const r = total(name);
        return [name, percent(share(r)), `${amount(name, r.requested)} of ${amount(name, r.allocatable)}`];
      })]),
      h("div", { class: "tools" }, search(c, "Filter by name or taint"), h("span", { class: "quiet" }, found.length > most ? `${number(most)} of ${plural(found.length, "node")}` : plural(found.length, "node"))),
      found.length ? table("Nodes, and what pods request of them",
        [{ head: "Node", sort: true }, ...columns.map(name => ({ head: name, sort: true })), { head: "Taints", grow: true }],
        found.slice(0, most).map(n => ({
          key: n.name,
          cells: [n.name, ...columns.map(name => {
            const r = of(n, name);
            return r.allocatable ? bar(share(r), `${amount(name, r.requested)} / ${amount(name, r.allocatable)}`) : h("span", { class: "quiet" }, "–");
          }), h("span", { class: "quiet" }, n.unschedulable ? [sign("warn", "cordoned"), " "] : null, (n.taints ?? []).join(", "))],
        })),
        { by, down: c.sort?.down ?? by !== 0, set: i => c.set({ sort: { by: i, down: by === i ? !(c.sort?.down ?? by !== 0) : i !== 0 } }) }) : nothing("No node matches."),
    ]);
  },
};

const breakers = { closed: ["ok", "called"], open: ["bad", "not called"], "half-open": ["warn", "as a probe"] };

const rolledOut = r => r.failed ? ["bad", "stepped back: " + r.failed] : r.step ? ["quiet", `step ${r.step} of ${r.steps}`] : r.versions.some(v => v.version === "canary") ? ["quiet", "waits"] : ["ok", "complete"];

export const plugins = {
  title: "Plugins",
  asks: () => ["plugins", "work", "trials"],
  show([p, work, trials], c) {
    const all = Array.isArray(work) ? [...work].sort((a, b) => b.duration - a.duration).filter(w => finds(c.filter, w.plugin, w.point, w.profile ?? "")) : [];
    const time = all.reduce((s, w) => s + w.duration, 0);
    return beside([
      p.error ? h("p", { class: "alarm" }, "The last change of plugins was refused: " + p.error) : null,
      (p.folder ?? []).filter(f => f.error).map(f => h("p", { class: "alarm" }, `${f.file} is not used: ${f.error}`)),
      section("Modules", p.plugins?.length ? table("WASM modules in profiles",
        [{ head: "Plugin" }, { head: "State" }, { head: "Module", grow: true }, { head: "Calls", number: true }, { head: "Nodes", number: true }, { head: "Fuel", number: true }, { head: "Faults", number: true }, { head: "Memory" }],
        p.plugins.map(m => ({
          key: m.profile + m.name + m.digest,
          cells: [h("span", null, m.name, p.plugins.some(o => o.profile !== m.profile) ? h("span", { class: "quiet" }, " in " + m.profile) : null), sign(...(m.shadow ? ["quiet", "in shadow"] : breakers[m.breaker] ?? ["warn", m.breaker])),
            h("span", { class: "why" }, m.module, " ", h("code", null, m.digest.slice(0, 19)), m.signers?.length ? h("small", null, " signed by " + m.signers.join(", ")) : null,
              m.yanked ? h("small", { class: "bad" }, " yanked: " + m.yanked) : null, m.lastFault ? h("small", { class: "bad" }, " " + m.lastFault) : null),
            short(m.calls), short(m.rows), short(m.fuel), m.faults ? sign("bad", number(m.faults)) : "0", m.memoryTotal ? bar(m.memory / m.memoryTotal, `${amount("memory", m.memory)} / ${amount("memory", m.memoryTotal)}`) : ""],
        }))) : nothing("No module runs.")),
      p.rollouts?.length ? section("Rollouts", table("New versions that take over step by step",
        [{ head: "Plugin" }, { head: "State" }, { head: "Version", grow: true }, { head: "Decides for" }, { head: "Attempts", number: true }],
        p.rollouts.flatMap(r => r.versions.map((v, i) => ({
          key: r.plugin + v.version,
          cells: [r.plugin, i ? "" : sign(...rolledOut(r)), h("span", null, v.version, " ", h("code", null, v.digest.slice(0, 19))), bar(v.share, percent(v.share)), r.step ? number(v.attempts) : "–"],
        }))))) : null,
      Array.isArray(trials) && trials.length ? section("In shadow", table("What plugins in shadow would have decided",
        [{ head: "Plugin" }, { head: "Same", number: true }, { head: "Elsewhere", number: true }, { head: "Placed", number: true }, { head: "Pending", number: true }, { head: "Preemption", number: true }, { head: "Failed", number: true }, { head: "Missed", number: true }],
        trials.map(t => ({ key: t.profile + t.plugin, cells: [t.plugin, number(t.same), number(t.elsewhere), number(t.placed), number(t.pending), number(t.preemption), number(t.failed), number(t.missed)] })))) : null,
      section("All plugins",
        h("div", { class: "tools" }, search(c, "Filter by plugin or point"), h("span", { class: "quiet" }, `${duration(time)} in all since the start`)),
        all.length ? table("The work of all plugins since the start, the slowest first",
          [{ head: "Plugin" }, { head: "Point" }, { head: "Time" }, { head: "A call", number: true }, { head: "Calls", number: true }, { head: "Nodes", number: true }, { head: "Kept answers", number: true }, { head: "Faults", number: true }],
          all.slice(0, most).map(w => ({
            key: (w.profile ?? "") + w.plugin + w.point + (w.digest ?? ""),
            cells: [h("span", null, w.plugin, all.some(o => o.profile !== w.profile) ? h("span", { class: "quiet" }, " in " + w.profile) : null), w.point, bar(w.duration / time, duration(w.duration)), w.calls ? duration(Math.round(w.duration / w.calls)) : "–", short(w.calls), short(w.rows ?? 0),
              w.rows || w.reused ? percent((w.reused ?? 0) / ((w.rows ?? 0) + (w.reused ?? 0))) : "–", w.faults ? sign("bad", number(w.faults)) : "0"],
          }))) : nothing("No plugin was called yet.")),
    ]);
  },
};
