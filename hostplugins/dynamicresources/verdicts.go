package dynamicresources

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// verdicts are which nodes have devices for some claims, and how these score, by the number that the claims'
// view gives what nodes have.
type verdicts struct {
	view   *view
	of     []verdict
	scores []int64 // only if claims have alternatives
	// details are what is said of nodes that lack devices, by the number that whole gives them, which is the view of the
	// claims if they asked for allocated devices, too.
	details map[uint32][]string
	whole   *view
}

// verdict is whether there are devices.
type verdict uint8

const (
	unknown verdict = iota
	fits
	lacks
)

func (v *verdicts) verdict(number uint32) verdict {
	if int(number) >= len(v.of) {
		return unknown
	}
	return v.of[number]
}

func (v *verdicts) score(number uint32) int64 {
	if int(number) >= len(v.scores) {
		return 0
	}
	return v.scores[number]
}

func (v *verdicts) learn(number uint32, found verdict, score int64) {
	v.of = grown(v.of, number)
	if v.of[number] = found; score != 0 {
		v.scores = grown(v.scores, number)
		v.scores[number] = score
	}
}

// grown returns an array that has an element for a number.
func grown[T any](s []T, number uint32) []T {
	if n := int(number) + 1 - len(s); n > 0 {
		s = slices.Grow(s, n)[:int(number)+1]
	}
	return s
}

// mostSpecs is for how many lists of claims verdicts are kept, before all are forgotten.
const mostSpecs = 256

// kept returns what is known about some claims. Claims of the same specs are alike.
func (l *Ledger) kept(claims []*resourcev1.ResourceClaim) *verdicts {
	key := l.specs[:0]
	for _, claim := range claims {
		key = appendMessage(key, &claim.Spec)
	}
	l.specs = key
	if v := l.verdicts[string(key)]; v != nil {
		return v
	}
	if len(l.verdicts) >= mostSpecs {
		clear(l.verdicts)
	}
	v := &verdicts{view: l.viewOf(claims, false)}
	l.verdicts[string(key)] = v
	return v
}

// forget forgets all verdicts.
func (l *Ledger) forget() {
	clear(l.verdicts)
	clear(l.views)
}

// follow takes in what changed before a search. It forgets all verdicts when there are too many numbers.
func (l *Ledger) follow() {
	if l.contents != nil && l.contents.full() {
		l.contents = nil
	}
	for _, v := range l.views {
		if v.full() {
			l.forget()
			break
		}
	}
	if l.contents == nil {
		l.contents, l.sliced = newContents(), true
		l.forget()
	}
	if l.sliced {
		l.contents.rebuild(l.devices.Slices.ResourceSlices())
		l.sliced = false
	}
}
