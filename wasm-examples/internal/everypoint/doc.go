// Package everypoint is a plugin for tests: it has every extension point, and does
// at each what the annotations of the pod say. A scenario can so show, for any host
// and any SDK, that an answer changes what the scheduler does. There is the same
// plugin in other languages; what follows is all that they agree on.
//
// # Annotations
//
// The keys begin with `everypoint.berth.dev/` and go on with `pre-enqueue`,
// `queue-key`, `hint`, `pre-filter`, `filter`, `post-filter`, `pre-score`, `score`,
// `normalize`, `reserve`, `unreserve`, `permit`, `pre-bind`, `bind` and `post-bind`,
// and there are `peer` and `max-peers`. An absent annotation is as one without
// steps, but for bind.
//
// # Steps
//
// A value is steps, separated by semicolons. Spaces (U+0020) round a step do not
// count, and empty steps are left out. The first word of a step, up to a space, is
// its verb; what follows the spaces after it is the rest. Steps are carried out in
// order. A step that is a status ends the list and is the answer; without one it is
// Success. A verb that is not known is the status Error with the reason
// `unknown step: VERB`.
//
// A status is `success`, `error`, `unschedulable`, `unresolvable` (for
// UnschedulableAndUnresolvable), `pending` or `skip`. The rest is the reason, a set
// of one text; none if it is empty. success and skip have none. The host refuses a
// status that the point does not have; the plugin gives it all the same.
//
// In a TEXT, `{NAME}` is replaced, from left to right and once: by the name of the
// node for `{node}`, at the points from reserve on; metadata.uid of the pod for
// `{uid}`; the value of a key of the plugin's state for `{state:KEY}`; what
// `publisher/plan` has for `{published}`; metadata.name in the whole Pod and the
// whole Node of row 0 (reserve and after) for `{pod-object}` and `{node-object}`;
// the verdicts as `a=2,b=3`, NODE=CODE sorted by bytes, for `{verdicts}`, at
// post_filter. What is not there is `none`, and other names stay as they are,
// with their braces.
//
// # Steps of all points but queue_key, hint, filter and score
//
//	set KEY TEXT       sets a key of the state
//	publish TEXT       is set plan TEXT; the manifest publishes the key
//	log TEXT           logs at level info
//	trap               traps
//	annotate KEY TEXT  a directive, as are the following
//	label KEY TEXT
//	nominate NODE      without NODE it takes the promise back
//	bind
//	allow UID
//	reject UID TEXT
//	activate UID
//
// KEY, NODE and UID end at a space; set, annotate, label and reject have the rest
// after it, without leading spaces. Where the SDK does not take it (state that
// cannot be set, a directive beyond the limits) the status is Error with the
// reason `no room`.
//
// # Points
//
// pre_enqueue: steps, though there is no state and no directive at this point.
//
// queue_key: the value is a decimal number n (64 bits, signed), 0 if it is not one.
// The key is 8 bytes of n and 8 bytes of the queue entry's time, both big-endian
// with the sign bit flipped, so that the order of bytes is that of numbers. With the
// value `long` it has 65 bytes of zero, or what the SDK does with a key that is too
// long.
//
// hint: `queue` is Queue, `skip` is QueueSkip, and `on NAME` is Queue if the object
// of the event has that name: the new node's, or else the old one's; the new pod's,
// or else the old one's; or the name in the event. Otherwise it is QueueSkip.
// Without steps, and with other ones, it is Queue. The first step counts.
//
// pre_filter: sets the key `peers` of the state to the number of pods on nodes whose
// annotation `peer` is `true`, 4 bytes little-endian; then steps, and `only NODE
// NODE …` besides, which narrows the nodes down to those named (names that are no
// node's do not count; a later one replaces an earlier one).
//
// add_pod, remove_pod: add 1 to `peers`, or subtract it, if the pod that came or
// went has `peer` `true`.
//
// filter: if `max-peers` is a decimal number and `peers` is not below it, the node
// is Unschedulable with the reason `too many peers`. Otherwise a step is `NODE
// STATUS TEXT`, in which NODE is a name or `*`; the first for the node counts. There
// is not a replacing in TEXT.
//
// post_filter: steps.
//
// pre_score: steps.
//
// score: a step is `NODE NUMBER`, NODE as in filter; the first for the node counts,
// and without one, or with a number that is none, the score is 0.
//
// normalize: if the value is `reverse`, a score becomes the highest one minus
// itself; otherwise it is steps. Then every score is brought to 0 … 100: less is 0,
// more is 100.
//
// reserve, unreserve, permit, pre_bind, bind, post_bind: steps. permit has the
// status `wait DURATION`, a decimal number below 2^31 and `ms`, `s` or `m`; another
// is not a time. bind without an annotation is Skip.
package everypoint
