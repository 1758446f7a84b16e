package berth

import (
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// The package comment, section Directives, says what all methods below have in common.

// Annotate sets an annotation of the pod: at Reserve, where the next pods see it immediately,
// PreBind and Bind. The last one for a key counts.
func (b Base) Annotate(key, value string) bool { return b.c.asked.add(abi.Annotate, key, value) }

// Label sets a label of the pod, like Annotate.
func (b Base) Label(key, value string) bool {
	return isLabelValue(value) && b.c.asked.add(abi.Label, key, value)
}

// Nominate sets the pod's nominated node, at PostFilter; an empty name clears it.
func (b Base) Nominate(node string) bool { return b.c.asked.add(abi.Nominate, node, "") }

// BindPod binds the pod to the node, at Bind, with the annotations and labels that were set.
func (b Base) BindPod() bool { return b.c.asked.add(abi.BindPod, "", "") }

// Allow ends this plugin's wait for a pod, at PostFilter and from Reserve on. It ignores a UID
// of a pod that does not wait.
func (b Base) Allow(uid string) bool { return b.c.asked.add(abi.Allow, uid, "") }

// Reject returns a waiting pod to the queue, at the points of Allow. The reason is for people.
func (b Base) Reject(uid, reason string) bool { return b.c.asked.add(abi.Reject, uid, reason) }

// Activate moves a parked pod to the active queue if the call's own pod is placed, from Reserve
// on.
func (b Base) Activate(uid string) bool { return b.c.asked.add(abi.Activate, uid, "") }

// directives are the directives of a call. Texts are copied, so they may be views.
type directives struct {
	list  []asked
	texts []byte
	table buffer
}

// asked is a directive and the lengths of its texts, which follow those of the previous one.
type asked struct {
	kind          abi.DirectiveKind
	first, second uint32
}

// begin drops the directives of the last call.
func (d *directives) begin() { d.list, d.texts = d.list[:0], d.texts[:0] }

func (d *directives) add(kind abi.DirectiveKind, first, second string) bool {
	if len(d.list) == abi.MaxDirectives || len(d.texts)+len(first)+len(second) > abi.MaxDirectiveText ||
		!utf8.ValidString(first) || !utf8.ValidString(second) {
		return false
	}
	d.list = append(d.list, asked{kind, uint32(len(first)), uint32(len(second))})
	d.texts = append(append(d.texts, first...), second...)
	return true
}

// publish writes the directives to the linear memory, and their address to the call record.
func (d *directives) publish(c *core) {
	n := uint32(len(d.list))
	if n == 0 {
		return
	}
	d.table.grow(c, abi.DirectiveSize*n+uint32(len(d.texts)))
	entries := view[directive](&c.mem, d.table.address, n)
	textsAt := d.table.address + abi.DirectiveSize*n
	copy(view[byte](&c.mem, textsAt, uint32(len(d.texts))), d.texts)
	for i, a := range d.list {
		first := text{address: textsAt, length: a.first}
		second := text{address: textsAt + a.first, length: a.second}
		entries[i] = directive{kind: a.kind, first: first, second: second}
		textsAt += a.first + a.second
	}
	record := c.record()
	record.directives, record.nDirectives = d.table.address, n
}

// isLabelValue reports whether s is a valid label value: empty, or at most 63 letters, digits,
// dashes, dots and underscores, with a letter or digit at both ends.
func isLabelValue(s string) bool {
	if len(s) > 63 {
		return false
	}
	for i := range len(s) {
		b := s[i]
		alphanumeric := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		inner := i > 0 && i < len(s)-1 && (b == '-' || b == '.' || b == '_')
		if !alphanumeric && !inner {
			return false
		}
	}
	return true
}
