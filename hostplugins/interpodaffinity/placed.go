package interpodaffinity

import (
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/state"
)

// role is how a term of a placed pod affects pods that it matches.
type role uint8

const (
	repels   role = iota // required anti-affinity
	attracts             // required affinity, weighted by hardPodAffinityWeight
	prefers              // preferred affinity
	avoids               // preferred anti-affinity
)

// placedTerm stands for equal terms of placed pods, with the number of those pods in each
// domain.
type placedTerm struct {
	*state.PodTerm
	role  role
	count *tally.Count

	key     string
	users   int // number of groups with the term, counted once per occurrence
	buckets []bucket
}

// bucket is the key under which terms are looked up for a pod.
type bucket struct {
	tally.Bucket
	repels bool
}

// placedTerms holds the distinct terms of all placed pods. Without buckets each pod would be
// checked against all of them, thousands in a large cluster.
type placedTerms struct {
	byKey   map[string]*placedTerm
	buckets map[bucket][]*placedTerm
}

func newPlacedTerms() placedTerms {
	return placedTerms{byKey: make(map[string]*placedTerm), buckets: make(map[bucket][]*placedTerm)}
}

// joined adds the terms of a new group of placed pods.
func (p *InterPodAffinity) joined(g *tally.Group) {
	if g.Affinity == nil {
		return
	}
	var terms []*placedTerm
	each(g.Affinity, func(r role, term *state.PodTerm) {
		if r == attracts && p.hardWeight == 0 {
			return
		}
		t := p.placedTerm(r, term)
		t.users++
		p.index.Join(g, t.count)
		terms = append(terms, t)
	})
	g.Owner = terms
}

// left removes the terms that no placed pod has any more.
func (p *InterPodAffinity) left(g *tally.Group) {
	terms, _ := g.Owner.([]*placedTerm)
	for _, t := range terms {
		if t.users--; t.users > 0 {
			continue
		}
		p.index.Disown(t.count)
		delete(p.terms.byKey, t.key)
		for _, b := range t.buckets {
			list := p.terms.buckets[b]
			if len(list) == 1 {
				delete(p.terms.buckets, b)
				continue
			}
			at := slices.Index(list, t)
			list[at] = list[len(list)-1]
			list[len(list)-1] = nil
			p.terms.buckets[b] = list[:len(list)-1]
		}
	}
}

// each calls yield with the terms of an affinity.
func each(a *state.PodAffinity, yield func(r role, term *state.PodTerm)) {
	for r, list := range [...][]state.PodTerm{
		repels: a.RequiredAnti.List, attracts: a.Required.List, prefers: a.Preferred.List, avoids: a.PreferredAnti.List,
	} {
		for i := range list {
			yield(role(r), &list[i])
		}
	}
}

// placedTerm returns the term with a role, creating it if necessary.
func (p *InterPodAffinity) placedTerm(r role, term *state.PodTerm) *placedTerm {
	key := binary.AppendVarint(append(p.key[:0], byte(r)), int64(term.Weight))
	key = append(key, term.Text...)
	p.key = key
	if t := p.terms.byKey[string(key)]; t != nil {
		return t
	}
	t := &placedTerm{
		PodTerm: term, role: r, key: string(key), buckets: bucketsOf(r, term),
		count: p.index.Own(p.index.Everywhere(p.index.Topology(term.TopologyKey))),
	}
	p.terms.byKey[t.key] = t
	for _, b := range t.buckets {
		p.terms.buckets[b] = append(p.terms.buckets[b], t)
	}
	return t
}

// bucketsOf returns the buckets of a term: a pod that the term matches looks into exactly one
// of them.
func bucketsOf(r role, term *state.PodTerm) []bucket {
	in := func(namespace string) bucket {
		return bucket{Bucket: tally.Bucket{Namespace: namespace}.With(term.Selector), repels: r == repels}
	}
	if selectsNamespaces(term) {
		return []bucket{in("")}
	}
	out := make([]bucket, len(term.Namespaces))
	for i, namespace := range term.Namespaces {
		out[i] = in(namespace)
	}
	return out
}

// selectsNamespaces reports whether a term may match pods of more namespaces than it names.
func selectsNamespaces(term *state.PodTerm) bool {
	_, selectable := term.NamespaceSelector.Requirements()
	return selectable
}

// about calls yield with the terms of placed pods that match a pod: those that repel it, or the
// others.
func (t *placedTerms) about(pod *state.Pod, namespaceLabels map[string]string, repelling bool, yield func(*placedTerm)) {
	if len(t.buckets) == 0 {
		return
	}
	tally.Buckets(pod.Namespace, pod.Object.Labels, func(b tally.Bucket) {
		for _, term := range t.buckets[bucket{Bucket: b, repels: repelling}] {
			if term.Matches(pod.Namespace, namespaceLabels, pod.Object.Labels) {
				yield(term)
			}
		}
	})
}
