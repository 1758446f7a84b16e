// What a plugin's code knows of its manifest (SPEC.md, section 9), as a source file.

/** The lists of `reads` whose order gives handles, and their names in the source. */
const LISTS = {
  resources: "RESOURCES",
  nodeLabels: "NODE_LABELS",
  nodeAnnotations: "NODE_ANNOTATIONS",
  nodeConditions: "NODE_CONDITIONS",
  feeds: "FEEDS",
  objectColumns: "OBJECT_COLUMNS",
  podLabels: "POD_LABELS",
  podAnnotations: "POD_ANNOTATIONS",
  namespaceLabels: "NAMESPACE_LABELS",
  published: "PUBLISHED",
};

/** The fields of the pod record, in the order of pod.ts's bits. */
const FIELDS = [
  "name", "namespace", "priority", "requests", "nonZeroRequested", "labels", "annotations", "owner", "tolerations", "nodeSelector",
  "affinity", "hostPorts", "images", "nodeName", "schedulingGates", "namespaceLabels", "uid",
  // Generated from abi/fields.
  "createdAt",
  "priorityClass",
  "serviceAccount",
  "preemptionPolicy",
  "group",
  "limits",
  "qos",
  "claims",
  "now",
  "containers",
];

const strings = (value, where) => {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((name) => typeof name !== "string")) throw new Error(`${where} is not a list of strings`);
  return value;
};

/** Whether an element of a list says where the configuration has more names. */
const brings = (element) => typeof element === "object" && element !== null && typeof element.fromConfig === "string";

/** Returns the source of the package berth-manifest. */
export function manifestSource(manifest) {
  const reads = manifest.reads ?? {};
  const lines = ["// Made from the plugin's manifest."];
  const places = [], from = [], to = [];
  for (const [list, name] of Object.entries(LISTS)) {
    const all = reads[list] ?? [], pointers = Array.isArray(all) ? all.filter(brings) : [];
    const names = strings(pointers.length > 0 ? all.filter((element) => !brings(element)) : all, `reads.${list}`);
    lines.push(`export ${pointers.length > 0 ? "let" : "const"} ${name}: StaticArray<string> = ${JSON.stringify(names)};`);
    if (pointers.length === 0) continue;
    from.push(`  if (list == "${list}") return ${name};`);
    to.push(`  if (list == "${list}") ${name} = names;`);
    for (const { fromConfig } of pointers) places.push(list, fromConfig);
  }
  lines.push("// Lists, each followed by a place in the configuration where it has more names.");
  lines.push(`export const PLACES: StaticArray<string> = ${JSON.stringify(places)};`);
  lines.push("export function namesOf(list: string): StaticArray<string> {", ...from, "  return [];", "}");
  lines.push("export function setNames(list: string, names: StaticArray<string>): void {", ...to, "}");
  const bits = strings(reads.pod, "reads.pod").reduce((all, name) => all | (FIELDS.includes(name) ? 1 << FIELDS.indexOf(name) : 0), 0);
  lines.push(`export const POD: u32 = ${bits};`);
  lines.push(`export const HOST_LOG: bool = ${strings(manifest.host, "host").includes("log")};`);
  return lines.join("\n") + "\n";
}
