package everypoint

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// noRoom is the reason if a limit forbids a step.
const noRoom = "no room"

// call is the subject of a call.
type call struct {
	pod    berth.Pod
	node   *berth.Node   // from reserve on
	judged *berth.Judged // at post_filter
}

// steps yields verb and rest of each step.
func steps(value string) iter.Seq2[string, string] {
	return func(yield func(verb, rest string) bool) {
		for step := range strings.SplitSeq(value, ";") {
			if step = strings.Trim(step, " "); step != "" && !yield(word(step)) {
				return
			}
		}
	}
}

// word splits off the first word.
func word(s string) (first, rest string) {
	first, rest, _ = strings.Cut(s, " ")
	return first, strings.TrimLeft(rest, " ")
}

// do runs the steps of an annotation.
func (p *EveryPoint) do(c call, annotation berth.ID) berth.Status {
	for verb, rest := range steps(p.Text(annotation)) {
		if status, ended := p.step(c, verb, rest); ended {
			return status
		}
	}
	return berth.Success
}

// step runs one step, and reports whether it is a status.
func (p *EveryPoint) step(c call, verb, rest string) (status berth.Status, ended bool) {
	key, text := word(rest)
	ok := true
	switch verb {
	case "set":
		ok = p.StateSet(key, []byte(p.expand(c, text)))
	case "publish":
		ok = p.StateSet("plan", []byte(p.expand(c, rest)))
	case "log":
		p.Log(berth.Info, p.expand(c, rest))
	case "trap":
		panic("everypoint: trap")
	case "annotate":
		ok = p.Annotate(key, p.expand(c, text))
	case "label":
		ok = p.Label(key, p.expand(c, text))
	case "nominate":
		ok = p.Nominate(key)
	case "bind":
		ok = p.BindPod()
	case "allow":
		ok = p.Allow(key)
	case "reject":
		ok = p.Reject(key, p.expand(c, text))
	case "activate":
		ok = p.Activate(key)
	default:
		return p.status(verb, p.expand(c, rest))
	}
	if !ok {
		return berth.Error(p.Reason(noRoom)), true
	}
	return berth.Success, false
}

// status parses a status; an unknown verb is an error.
func (p *EveryPoint) status(verb, reason string) (berth.Status, bool) {
	var r berth.Reason
	if reason != "" {
		r = p.Reason(strings.Split(reason, "|")...)
	}
	switch verb {
	case "success":
		return berth.Success, true
	case "skip":
		return berth.Skip, true
	case "error":
		return berth.Error(r), true
	case "unschedulable":
		return berth.Unschedulable(r), true
	case "unresolvable":
		return berth.UnschedulableAndUnresolvable(r), true
	case "pending":
		return berth.Pending(r), true
	}
	return berth.Error(p.Reason("unknown step: " + verb)), true
}

// expand replaces names in braces.
func (p *EveryPoint) expand(c call, text string) string {
	out := ""
	for {
		before, after, open := strings.Cut(text, "{")
		name, rest, closed := strings.Cut(after, "}")
		if !open || !closed {
			return out + text
		}
		value, known := p.value(c, name)
		if !known {
			value = "{" + name + "}"
		}
		out, text = out+before+value, rest
	}
}

// value returns the value of a name.
func (p *EveryPoint) value(c call, name string) (value string, known bool) {
	var b []byte
	ok := false
	switch name {
	case "node":
		if c.node != nil {
			return c.node.Name(), true
		}
	case "uid":
		return c.pod.UID(), true
	case "published":
		b, ok = p.PublishedGet(p.published)
	case "pod-object":
		b, ok = p.PodObject(c.pod)
		b = metadataName(b)
	case "node-object":
		if c.node != nil {
			b, ok = p.NodeObject(*c.node)
			b = metadataName(b)
		}
	case "number":
		return strconv.FormatInt(int64(math.Float64bits(p.number)), 10), true
	case "sight":
		return p.sight(c), true
	case "verdicts":
		if c.judged != nil {
			return verdicts(*c.judged), true
		}
	default:
		keys, found := strings.CutPrefix(name, "state:")
		return p.values(keys), found
	}
	if !ok {
		return "none", true
	}
	return string(b), true
}

// values returns the values of keys of the state.
func (p *EveryPoint) values(keys string) string {
	var all [][]byte
	for key := range strings.SplitSeq(keys, " ") {
		b, ok := p.StateGet(key)
		if !ok {
			b = []byte("none")
		}
		all = append(all, b)
	}
	return string(bytes.Join(all, []byte(" ")))
}

func verdicts(nodes berth.Judged) string {
	var all []string
	for i := range nodes.Len() {
		all = append(all, nodes.At(i).Name()+"="+strconv.Itoa(int(nodes.Code(i))))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// metadataName finds metadata.name in a whole object: field 1 of field 1, both
// length-delimited.
func metadataName(object []byte) []byte { return field(field(object, 1), 1) }

// field returns a length-delimited field of a protobuf message; empty if there is none.
func field(message []byte, number uint64) []byte {
	for len(message) > 0 {
		tag, rest := varint(message)
		switch tag & 7 {
		case 0:
			_, rest = varint(rest)
		case 1:
			rest = rest[min(8, len(rest)):]
		case 2:
			n, data := varint(rest)
			n = min(n, uint64(len(data)))
			if tag>>3 == number {
				return data[:n]
			}
			rest = data[n:]
		case 5:
			rest = rest[min(4, len(rest)):]
		default:
			return nil
		}
		message = rest
	}
	return nil
}

func varint(b []byte) (v uint64, rest []byte) {
	for i, c := range b {
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, b[i+1:]
		}
	}
	return v, nil
}
