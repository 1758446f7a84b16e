// What a plugin's code knows of its manifest (SPEC.md, section 9), as a source file.

/** The lists of `reads` whose order gives handles, and their names in the source. */
const LISTS = {
  resources: "RESOURCES",
  nodeLabels: "NODE_LABELS",
  nodeAnnotations: "NODE_ANNOTATIONS",
  nodeConditions: "NODE_CONDITIONS",
  feeds: "FEEDS",
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
];

const strings = (value, where) => {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((name) => typeof name !== "string")) throw new Error(`${where} is not a list of strings`);
  return value;
};

/** Returns the source of the package berth-manifest. */
export function manifestSource(manifest) {
  const reads = manifest.reads ?? {};
  const lines = ["// Made from the plugin's manifest."];
  for (const [list, name] of Object.entries(LISTS)) {
    const names = strings(reads[list], `reads.${list}`);
    lines.push(`export const ${name}: StaticArray<string> = ${JSON.stringify(names)};`);
  }
  const bits = strings(reads.pod, "reads.pod").reduce((all, name) => all | (FIELDS.includes(name) ? 1 << FIELDS.indexOf(name) : 0), 0);
  lines.push(`export const POD: u32 = ${bits};`);
  lines.push(`export const HOST_LOG: bool = ${strings(manifest.host, "host").includes("log")};`);
  return lines.join("\n") + "\n";
}
