// A plugin that prefers nodes with a high number in a label or an annotation, whose key the configuration names. It is the twin of the Go
// package in the folder above.

import * as berth from "@berth-scheduler/sdk";

class NodeNumber {
  // null if no key is given.
  private label: berth.NodeLabel | null = null;
  private annotation: berth.NodeAnnotation | null = null;

  configure(config: berth.Json): void {
    config.only(["label", "annotation"]);
    const label = config.get("label"), annotation = config.get("annotation");
    this.label = berth.findNodeLabel(label.text(""));
    this.annotation = berth.findNodeAnnotation(annotation.text(""));
    if (this.label !== null && this.annotation !== null) annotation.error("the number is in a label already");
  }

  score(_pod: berth.Pod, node: berth.Node): i64 {
    let text = berth.ABSENT;
    const label = this.label, annotation = this.annotation;
    if (label !== null) text = node.label(label);
    if (annotation !== null) text = node.annotation(annotation);
    return berth.parseI64(berth.text(text)) ? max<i64>(0, berth.parsed.number) : 0;
  }
}

export const plugin = new NodeNumber();
