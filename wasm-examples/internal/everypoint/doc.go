// Package everypoint is a plugin for tests: it has every extension point, and does at each what
// the pod's annotations say. So a scenario can show, for any host and any SDK, that an answer
// changes what the scheduler does. The same plugin exists in other languages; this is their
// common specification.
//
// # Annotations
//
// The keys begin with `everypoint.berth.dev/`, followed by `pre-enqueue`, `queue-key`, `hint`,
// `pre-filter`, `filter`, `post-filter`, `pre-score`, `score`, `normalize`, `reserve`,
// `unreserve`, `permit`, `pre-bind`, `bind` and `post-bind`, `peer` or `max-peers`. An absent
// annotation means no steps.
//
// # Configuration
//
// `numbers` is a list of whole numbers and `flags` an object of true and false, which do nothing: the manifest's
// schema is `{"type": "object"}`, so that scenarios show how the SDK refuses what they must not be. `number` is a
// number, of which `{number}` is the 64 bits as a signed decimal number.
//
// # Steps
//
// A value is a list of steps, separated by semicolons. Spaces (U+0020) around a step are
// ignored, and empty steps are skipped. The first word of a step, up to a space, is its verb;
// what follows the spaces after it is the rest. Steps run in order. A step that is a status
// ends the list and is the answer; the default is Success. An unknown verb is the status Error
// with the reason `unknown step: VERB`.
//
// A status is `success`, `error`, `unschedulable`, `unresolvable` (for
// UnschedulableAndUnresolvable), `pending` or `skip`. The rest is the reason, a set of texts
// with `|` between them; if it is empty there is no reason. success and skip have none. The
// plugin also returns a status that the point does not have; the host refuses it.
//
// In a TEXT, `{NAME}` is replaced, from left to right and once: by the name of the node for
// `{node}`, at the points from reserve on; metadata.uid of the pod for `{uid}`; the values of keys
// of the plugin's state, with spaces between them, for `{state:KEY KEY …}`, which are all read before
// the first is used; what `publisher/plan` has for `{published}`;
// metadata.name in the whole Pod and the whole Node of row 0 (reserve and after) for
// `{pod-object}` and `{node-object}`; the verdicts as `a=2,b=3`, NODE=CODE sorted by bytes, for
// `{verdicts}`, at post_filter; what the SDK reads of the pod, of the node (reserve and after) and of
// all namespaces, field by field as in sight.go, for `{sight}`. A missing value is `none`; unknown
// names stay unchanged, with their braces.
//
// # Steps of all points but queue_key, hint, filter and score
//
//	set KEY TEXT       sets a key of the state
//	publish TEXT       is set plan TEXT; the manifest publishes the key
//	log TEXT           logs at level info
//	trap               says `everypoint: trap`, and traps
//	annotate KEY TEXT  a directive, as are the following
//	label KEY TEXT
//	nominate NODE      without NODE it takes the promise back
//	bind
//	allow UID
//	reject UID TEXT
//	activate UID
//
// KEY, NODE and UID end at a space; the TEXT of set, annotate, label and reject is the rest
// after it, without leading spaces. If the SDK refuses it (state that cannot be set, a
// directive beyond the limits) the status is Error with the reason `no room`.
//
// # Points
//
// pre_enqueue: steps, but this point has no state and no directives.
//
// queue_key: the value is a decimal number n (64 bits, signed), 0 if it is not one. The key is
// 8 bytes of n and 8 bytes of the queue entry's time, both big-endian with the sign bit
// flipped, so that the order of bytes is that of numbers. With the value `long` it has 65 zero
// bytes, which the SDK handles as a key that is too long. If steps of the value are parts, the key
// has them instead, in their order: `u64 N`, `i64 N`, `bytes TEXT` and `text TEXT`, with a `-` before
// the verb in descending order, and `attempts`, their number as u64. A `|` in the TEXT of `text` is a
// zero byte. An N is below 2^63.
//
// hint: `queue` is Queue, `skip` is QueueSkip, and `on NAME` is Queue if the object of the
// event has that name: the new node's, or else the old one's; the new pod's, or else the old
// one's; or the name in the event. `was NAME` is Queue if the old node or pod has that name, `in
// NAMESPACE` if the event has that namespace, and `is RESOURCE ACTIONS` if it is about the resource
// with that number and has one of those actions, as bits. `whole` is Queue if `{pod-object}` is the
// pod's own name, and `none` for the pods of the event. Otherwise it is QueueSkip. Without steps, and for
// any other step, it is Queue. Only the first step counts.
//
// pre_filter: sets the key `peers` of the state to the number of pods on nodes whose annotation
// `peer` is `true`, 4 bytes little-endian; then steps, including `only NODE NODE …`, which
// narrows the nodes down to those named (unknown names are ignored; a later step replaces an
// earlier one).
//
// add_pod, remove_pod: add 1 to `peers`, or subtract 1, if the added or removed pod has `peer`
// `true`. Error with the reason `wrong object` unless `{pod-object}` is that pod's name for it, and `none` for
// the pod to be placed.
//
// filter: if `max-peers` is a decimal number and `peers` is not below it, the node is
// Unschedulable with the reason `too many peers`. Otherwise a step is `NODE STATUS TEXT`, in
// which NODE is a name or `*`; the first for the node counts. `{node}` is that node. `all STATUS
// TEXT` as the first step judges all nodes at once, by the SDK's prepare; TEXT is not expanded.
//
// post_filter: steps.
//
// pre_score: steps.
//
// score: a step is `NODE NUMBER`, NODE as in filter; the first for the node counts; without
// one, or with an invalid number, the score is 0.
//
// normalize: if the value is `reverse`, a score becomes the highest one minus itself; otherwise
// it is steps. Then every score is limited to 0 … 100.
//
// reserve, unreserve, permit, pre_bind, bind, post_bind: steps. permit has the status `wait
// DURATION`: a decimal number below 2^31 and `ms`, `s` or `m`; an invalid duration means no
// time. At bind the default is Success only after the step bind, and otherwise Skip.
package everypoint
