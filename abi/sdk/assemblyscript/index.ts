// The AssemblyScript SDK for plugins of the Berth scheduler. README.md says how to use it,
// abi/SPEC.md what goes over the wire. Names that begin with an underscore are the SDK's own.

export { Code, EventAction, EventKind } from "./assembly/abi";
export {
  activate, allow, annotate, bindPod, label, Level, log, findFeed, findNodeAnnotation, findNodeLabel, findPodAnnotation, findPodLabel, findResource,
  namespaceLabel, nodeAnnotation, nodeCondition, feed, nodeLabel, nodeObject, nominate, objectColumn,
  podAnnotation, podLabel, podObject, published, publishedGet, reject, resource, retryAfter, stateGet, stateSet, waitFor,
} from "./assembly/call";
export { text } from "./assembly/columns";
export { Const, constant } from "./assembly/constants";
export { Event, HintResult, QUEUE, QUEUE_SKIP } from "./assembly/event";
export { Json } from "./assembly/json";
export { IDs, List, Numbers, Pairs } from "./assembly/list";
export { stop } from "./assembly/memory";
export { Node, NodeImages, NodeLabels, NodePorts, NodeTaints, Nominated, Pods } from "./assembly/node";
export { parsed, parseI64 } from "./assembly/number";
export { PlacedLabels, PlacedPod } from "./assembly/placed";
export { Pod } from "./assembly/pod";
export { Key, Queued } from "./assembly/queue";
export {
  codeOf, error, NO_REASON, pending, Reason, reason, reasonOf, SKIP, Status, SUCCESS, unschedulable, unschedulableAndUnresolvable, WAIT,
} from "./assembly/reasons";
export { Rows } from "./assembly/rows";
export { Scores } from "./assembly/serve";
export { Judged, Namespace, NamespaceLabels, Nodes, snapshot } from "./assembly/snapshot";
export {
  ABSENT, Condition, Container, ContainerKind, Effect, ID, Image, NamespaceLabel, NodeAnnotation, NodeCondition, Feed, FeedState, NodeLabel, NO_SCORE, NonZero, ObjectColumn, Operator, Pair,
  PodAnnotation, PodLabel, Port, Protocol, Published, Requirement, Resource, Taint, Term, Toleration, TolerationOperator,
} from "./assembly/types";
