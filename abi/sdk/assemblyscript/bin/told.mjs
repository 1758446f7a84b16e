// What an author is told besides what the compiler says: it takes a bool for a number, and points at the SDK's calls of a plugin's methods.

/** The parameters and the result of the methods. */
export const METHODS = {
  prepare: "(pod: Pod): Status",
  configure: "(config: Json): void",
  preEnqueue: "(pod: Pod): Status",
  queueKey: "(pod: Pod, queued: Queued, key: Key): void",
  hint: "(event: Event, pod: Pod): HintResult",
  preFilter: "(pod: Pod, nodes: Nodes, rows: Rows): Status",
  addPod: "(pod: Pod, added: Pod, node: Node): Status",
  removePod: "(pod: Pod, removed: Pod, node: Node): Status",
  filter: "(pod: Pod, node: Node): Status",
  postFilter: "(pod: Pod, judged: Judged): Status",
  preScore: "(pod: Pod, nodes: Nodes): Status",
  score: "(pod: Pod, node: Node): i64",
  normalize: "(pod: Pod, nodes: Nodes, scores: Scores): Status",
  reserve: "(pod: Pod, node: Node): Status",
  unreserve: "(pod: Pod, node: Node): Status",
  permit: "(pod: Pod, node: Node): Status",
  preBind: "(pod: Pod, node: Node): Status",
  bind: "(pod: Pod, node: Node): Status",
  postBind: "(pod: Pod, node: Node): Status",
};

const header = new RegExp(`^\\s*(?:public\\s+)?(${Object.keys(METHODS).join("|")})\\s*\\(.*\\)\\s*:\\s*([\\w.]+)\\s*\\{`);

/** Returns the places in a file where a bool is used as a Status: as a number it is another one than meant. */
export function statusMistakes(file, text) {
  const told = [];
  let returns = "";
  for (const [i, line] of text.split("\n").entries()) {
    const code = line.replace(/\/\/.*/, ""), [, method, result] = header.exec(code) ?? [];
    returns = /\)\s*:\s*([\w.]+)\s*(?:=>\s*)?\{/.exec(code)?.[1] ?? returns;
    if (/^bool(ean)?$/.test(result ?? "") && /Status$/.test(METHODS[method])) {
      told.push(`${file}(${i + 1}): the method ${method} returns ${result}: write ${method}${METHODS[method]}, which returns SUCCESS or unschedulable(reason)`);
    }
    const [, value] = /\breturn\s+(true|false)\s*[;}]/.exec(code) ?? [];
    if (value !== undefined && /(^|\.)Status$/.test(returns)) {
      told.push(`${file}(${i + 1}): ${value} is no Status: return SUCCESS, or unschedulable(reason)`);
    }
  }
  return told;
}

/**
 * Returns what the compiler said with the author's place instead of the SDK's, where that calls a method of the plugin, and each mistake
 * once. sources are the author's files by their names.
 */
export function explained(said, sources) {
  const seen = new Set(), out = [];
  for (const block of said.split(/\n(?:[ \t]*\n)+/)) {
    const [, method] = /plugin\.(\w+)[^]*in ~lib\/@berth-scheduler\/sdk\/assembly\/serve\.ts\(/.exec(block) ?? [];
    if (method === undefined || METHODS[method] === undefined) {
      out.push(block);
      continue;
    }
    const what = block.trimStart().split("\n", 1)[0];
    if (seen.has(what + method)) continue;
    seen.add(what + method);
    let place = `the plugin has no method ${method}: write`;
    for (const [file, text] of sources) {
      const line = text.split("\n").findIndex((l) => new RegExp(`^\\s*(?:public\\s+)?${method}\\s*\\(`).test(l));
      if (line >= 0) place = `in ${file}(${line + 1}): the method must be`;
    }
    out.push(`${what}\n    └─ ${place} ${method}${METHODS[method]}`);
  }
  return out.join("\n\n");
}
