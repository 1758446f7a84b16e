package berth

import (
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// What all of the methods below have in common is said in the package's comment,
// section Directives.

// Annotate writes an annotation of the pod: at Reserve, where the next pods see it
// at once, PreBind and Bind. A later one of the same key counts.
func (b Base) Annotate(key, value string) bool { return b.c.asked.add(abi.Annotate, key, value) }

// Label writes a label of the pod, as Annotate does.
func (b Base) Label(key, value string) bool {
	return isLabelValue(value) && b.c.asked.add(abi.Label, key, value)
}

// Nominate promises the pod a node, at PostFilter; an empty name takes the promise
// back.
func (b Base) Nominate(node string) bool { return b.c.asked.add(abi.Nominate, node, "") }

// BindPod binds the pod to the node, at Bind, with what was written on it.
func (b Base) BindPod() bool { return b.c.asked.add(abi.BindPod, "", "") }

// Allow ends this plugin's wait for a pod, at PostFilter and from Reserve on. A UID
// that is not that of a waiting pod does nothing.
func (b Base) Allow(uid string) bool { return b.c.asked.add(abi.Allow, uid, "") }

// Reject sends a waiting pod back to the queue, where Allow can be asked for. The
// reason is for people.
func (b Base) Reject(uid, reason string) bool { return b.c.asked.add(abi.Reject, uid, reason) }

// Activate moves a parked pod to the front of the queue's work if the call's own
// pod is placed, from Reserve on.
func (b Base) Activate(uid string) bool { return b.c.asked.add(abi.Activate, uid, "") }

// directives is what a call asks for. Texts are copied, so that they may be views.
type directives struct {
	list  []asked
	texts []byte
	table buffer
}

// asked is a directive and the lengths of its texts, which follow those of the one
// before.
type asked struct {
	kind          abi.DirectiveKind
	first, second uint32
}

// begin forgets what the last call asked for.
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

// publish puts the directives into the linear memory, and their address into the
// call record.
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

// isLabelValue reports whether s is a value of a label: empty, or at most 63
// letters, digits, dashes, dots and underscores, a letter or digit at both ends.
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
