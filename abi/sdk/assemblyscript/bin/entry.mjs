// The entry file of a plugin: the functions of the module (SPEC.md, section 5) call the methods of its plugin.

/** Points by their names in the manifest, which are those of the methods: the function, and whether it is about rows. */
const POINTS = {
  preEnqueue: ["berth_pre_enqueue", "rows"],
  queueSort: ["berth_queue_key", "rows", "queueKey"],
  hint: ["berth_hint", "rows"],
  preFilter: ["berth_pre_filter", "pod"],
  addPod: ["berth_add_pod", "row"],
  removePod: ["berth_remove_pod", "row"],
  filter: ["berth_filter", "row"],
  postFilter: ["berth_post_filter", "row"],
  preScore: ["berth_pre_score", "row"],
  score: ["berth_score", "row"],
  normalize: ["berth_normalize", "row"],
  reserve: ["berth_reserve", "pod"],
  unreserve: ["berth_unreserve", "pod"],
  permit: ["berth_permit", "pod"],
  preBind: ["berth_pre_bind", "pod"],
  bind: ["berth_bind", "pod"],
  postBind: ["berth_post_bind", "pod"],
};

/** Returns the source of the entry file of a plugin, which a file exports as `plugin`. */
export function entrySource(manifest, sdk, file) {
  const points = Object.keys(manifest.points ?? {});
  const lines = [
    "// Made from the plugin's manifest.",
    `import { plugin } from ${JSON.stringify(file)};`,
    `import * as serve from ${JSON.stringify(`${sdk}/assembly/serve`)};`,
    "export function berth_abi(): i32 { return 0x10000; }",
    "export function berth_alloc(size: i32, align: i32): i32 { return <i32>__berth_region(size, align); }",
    "function guard<P>(plugin: P): void {",
  ];
  for (const [point, [, , method = point]] of Object.entries(POINTS)) {
    if (!points.includes(point)) {
      lines.push(`  if (isDefined(plugin.${method})) ERROR("the plugin has the method ${method}, and manifest.json's points do not have ${point}");`);
    }
  }
  if (manifest.config === undefined) {
    lines.push('  if (isDefined(plugin.configure)) ERROR("the plugin has the method configure, and manifest.json does not have config");');
  }
  lines.push("}", "guard(plugin);");
  if (manifest.config !== undefined) {
    lines.push("export function berth_configure(address: i32, length: i32): i32 { return serve.configure(plugin, address, length); }");
  }
  for (const point of points) {
    if (POINTS[point] === undefined) throw new Error(`points.${point} is no extension point`);
    const [name, about, method = point] = POINTS[point];
    const parameters = about === "pod" ? "call: i32" : "call: i32, lo: i32, _hi: i32";
    lines.push(`export function ${name}(${parameters}): i32 { return serve.${method}(plugin, call${about === "row" ? ", lo" : ""}); }`);
  }
  return lines.join("\n") + "\n";
}
