package interpodaffinity

import (
	"encoding/binary"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/state"
)

// selects reports whether all of the incoming pod's terms match a placed pod of a namespace. A namespaceSelector is
// evaluated against the labels of known namespaces; one that is empty selects every namespace.
func (p *InterPodAffinity) selects(terms []state.PodTerm, namespace string, podLabels map[string]string) bool {
	for i := range terms {
		t := &terms[i]
		if !t.Names(namespace) && !t.EveryNamespace {
			known, ok := p.index.NamespaceLabels(namespace)
			if !ok || !t.NamespaceSelector.Matches(labels.Set(known)) {
				return false
			}
		}
		if !t.Selector.Matches(labels.Set(podLabels)) {
			return false
		}
	}
	return true
}

// count returns the number of placed pods that all of the terms match, by domain of a topology
// key.
func (p *InterPodAffinity) count(terms []state.PodTerm, topologyKey string) *tally.Count {
	key := binary.AppendUvarint(p.key[:0], uint64(len(terms)))
	for i := range terms {
		key = appendText(key, terms[i].Text)
	}
	key = append(key, topologyKey...)
	p.key = key
	if found := p.index.Find(key); found != nil {
		return found
	}
	namespaces := terms[0].Namespaces
	for i := range terms {
		if selectsNamespaces(&terms[i]) {
			namespaces = nil // any, because their labels may change
		}
	}
	return p.index.Count(key, p.index.Everywhere(p.index.Topology(topologyKey)), tally.About{
		Namespaces: namespaces, Selector: terms[0].Selector,
		Match: func(g *tally.Group) bool { return p.selects(terms, g.Namespace, g.Labels) },
	})
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
