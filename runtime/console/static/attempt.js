import { h, table, section, bar, nothing } from "./dom.js";
import { number, duration, plural, camel, clock, age } from "./format.js";

// outcome says in words and with a sign what became of an attempt.
export function outcome(d) {
  if (d.node && d.outcome === "bound") return sign("ok", "bound");
  if (d.node) return sign("busy", "binding");
  if (d.nominated) return sign("warn", "preempting");
  if (d.outcome) return sign("bad", d.outcome.toLowerCase());
  return sign("warn", "no node");
}

export const sign = (kind, text) => h("span", { class: ["sign", kind] }, text);

export const podLink = (namespace, name) => "#/pods/" + encodeURIComponent(namespace) + "/" + encodeURIComponent(name);

// attempt shows an attempt in full: x is an Explanation of the debug port.
export function attempt(x) {
  const a = x.attempt;
  return [
    h("dl", { class: "facts" },
      fact("Result", outcome({ ...a, outcome: x.outcome }), a.node ? [" on ", h("b", null, a.node)] : null),
      a.nominated ? fact("Nominated to", a.nominated) : null,
      a.victims?.length ? fact("Preempts", a.victims.join(", ")) : null,
      a.message ? fact("Message", a.message) : null,
      fact("Nodes", `${number(a.feasible)} feasible, ${number(a.evaluated)} evaluated, ${number(a.nodes)} in all`),
      fact("Profile", a.profile),
      fact("At", h("time", { datetime: x.at }, clock(x.at)), ` UTC, try ${a.try}, decision ${number(a.sequence)}`),
      fact("Took", duration(x.duration), x.took ? ", with binding " + duration(x.took) : null)),
    section("Scores", scores(a)),
    section("Rejected nodes", rejections(a)),
    h("details", null, h("summary", null, "What each plugin did"), work(x.plugins ?? [])),
  ];
}

const fact = (name, ...value) => h("div", null, h("dt", null, name), h("dd", null, ...value));

// scores is the table of scores: the chosen node first, a column for each plugin, darker where a plugin tells nodes apart.
function scores(a) {
  const best = a.candidates ?? [];
  if (!best.length) return nothing("No node was scored.");
  const plugins = best[0].scores ?? [];
  if (!plugins.length) return nothing(`Only ${best[0].node} was feasible, so nothing was scored.`);
  const spread = plugins.map((_, i) => {
    const all = best.map(c => c.scores[i].weighted);
    return [Math.min(...all), Math.max(...all)];
  });
  const apart = plugins.map((_, i) => i).filter(i => best.length === 1 || spread[i][0] < spread[i][1]);
  const alike = plugins.filter((_, i) => !apart.includes(i)).map(s => `${s.plugin} ${points(s)}`);
  const cell = (s, [low, high]) => h("span", { class: "score", title: `raw ${raw(s)}, normalized ${s.normalized}, weighted ${s.weighted}`, vars: { share: high > low ? ((s.weighted - low) / (high - low)).toFixed(3) : "0" } },
    number(s.weighted), s.raw !== s.weighted ? h("small", null, ` (${raw(s)})`) : null);
  return [
    table(`The best ${best.length} of ${plural(a.feasible, "feasible node")} by weighted score (raw score in brackets where it differs), the chosen one first`,
      [{ head: "Node" }, { head: "Total", number: true }, ...apart.map(i => ({ head: camel(plugins[i].plugin), number: true }))],
      best.map((c, i) => ({
        key: c.node, class: i === 0 && a.node ? "chosen" : null,
        cells: [c.node, h("b", null, number(c.total)), ...apart.map(j => cell(c.scores[j], spread[j]))],
      }))),
    h("p", { class: "note" }, `The best ${best.length} of ${plural(a.feasible, "feasible node")}. `, alike.length ? `All of them have ${alike.join(", ")}.` : null),
    feeds(best),
  ];
}

// feeds is the table of what feeds said of the best nodes when plugins scored them; null if none reads feeds.
function feeds(best) {
  const all = best.flatMap(c => (c.feeds ?? []).map(f => ({ node: c.node, ...f })));
  if (!all.length) return null;
  const value = (f, unit) => f.state === 0 ? "none" : `${number(f.value)} ${unit}${f.state === 2 ? ", stale" : ""}`;
  return table("What feeds said of them",
    [{ head: "Node" }, { head: "Feed" }, { head: "Value", number: true }, { head: "Sampled at" }, { head: "Read by" }],
    all.map(f => {
      const [name, unit] = f.feed.split(":");
      return { key: f.node + f.plugin + f.feed, cells: [f.node, name, value(f, unit), f.at ? new Date(1000 * f.at).toISOString().slice(0, 19) + "Z" : "", f.plugin] };
    }));
}

// The score of a node about which a plugin has nothing to say is −2^63 (ABI-9.5).
const raw = s => s.raw < -9e18 ? "none" : number(s.raw);
const points = s => s.raw === s.weighted ? number(s.weighted) : `${number(s.weighted)} (${raw(s)})`;

const helps = { Unschedulable: "may help", UnschedulableAndUnresolvable: "no help" };

function rejections(a) {
  const all = [...(a.rejections ?? [])].sort((x, y) => y.count - x.count);
  if (!all.length) return nothing("No plugin rejected a node.");
  return table("Nodes by the plugin that rejected them first",
    [{ head: "Plugin" }, { head: "Nodes", number: true }, { head: "Reason" }, { head: "Evicting pods" }, { head: "Such as", some: true }],
    all.map((r, i) => ({
      key: "" + i,
      cells: [camel(r.plugin), bar(r.count / a.nodes, number(r.count)), [r.reasons.join(", "), (r.details ?? []).map(d => h("div", { class: "note" }, `${plural(d.nodes, "node")}: ${d.text}`))], helps[r.code] ?? r.code,
        h("span", { class: "quiet" }, (r.nodes ?? []).slice(0, 3).map((n, i) => [i ? ", " : null, h("span", null, n)]), r.count > 3 && r.nodes?.length ? ", …" : null)],
    })));
}

function work(all) {
  const sorted = [...all].sort((x, y) => y.duration - x.duration);
  return table("The work of plugins, the slowest first",
    [{ head: "Plugin" }, { head: "Point" }, { head: "Calls", number: true }, { head: "Nodes", number: true }, { head: "Kept answers", number: true }, { head: "Faults", number: true }, { head: "Time", number: true }],
    sorted.map(w => ({
      key: w.plugin + w.point + (w.digest ?? ""),
      cells: [camel(w.plugin), w.point, number(w.calls), number(w.rows ?? 0), number(w.reused ?? 0), w.faults ? sign("bad", number(w.faults)) : "0", duration(w.duration)],
    })));
}

// decisions is a list of attempts in short. Each has a name of the given kind.
export function decisions(caption, list, now, selected, kind, name) {
  return table(caption,
    [{ head: kind }, { head: "Result" }, { head: "Node", grow: true }, { head: "Feasible", number: true, wide: true }, { head: "Took", number: true, wide: true }, { head: "Try", number: true, wide: true }, { head: "Age", number: true }],
    list.map(d => ({
      key: "" + d.sequence, href: "#/decisions/" + d.sequence, selected: d.sequence === selected,
      cells: [name(d), outcome(d),
        d.node ? d.node : h("span", { class: "why", title: d.message }, d.nominated ? "nominated to " + d.nominated : d.message ?? ""),
        `${number(d.feasible)} of ${number(d.nodes)}`, duration(d.took || d.duration), number(d.try), h("time", { datetime: d.at }, age(d.at, now))],
    })));
}
