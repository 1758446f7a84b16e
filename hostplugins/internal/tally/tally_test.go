package tally_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

// hasDisk makes nodes with a certain label eligible. It reads the label's value as text for
// each row, so it needs no dictionary.
type hasDisk string

func (d hasDisk) Match(s *state.Snapshot, rows []uint32, out []uint8) {
	for i, row := range rows {
		out[i] = 0
		if s.Nodes.Node[row].Object.Labels["disk"] == string(d) {
			out[i] = 1
		}
	}
}

// query is a count, together with a computation of the same numbers from scratch.
type query struct {
	name       string
	topology   string // empty for single nodes
	disk       string // empty for any node
	absent     bool
	namespaces []string          // nil for any
	selector   labels.Selector   // on pods
	team       map[string]string // on namespaces: labels that they must have
}

func (q *query) count(x *tally.Index) *tally.Count {
	if c := x.Find([]byte(q.name)); c != nil {
		return c
	}
	var scope *tally.Scope
	switch {
	case q.topology == "":
		scope = x.Nodes()
	case q.disk == "" && !q.absent:
		scope = x.Everywhere(x.Topology(q.topology))
	default:
		var eligible tally.Eligible
		if q.disk != "" {
			eligible = hasDisk(q.disk)
		}
		scope = x.Scope(fmt.Sprint(q.topology, q.disk, q.absent), x.Topology(q.topology), eligible, q.absent)
	}
	return x.Count([]byte(q.name), scope, tally.About{Namespaces: q.namespaces, Selector: q.selector, Match: func(g *tally.Group) bool {
		if q.team != nil {
			known, _ := x.NamespaceLabels(g.Namespace)
			if !labels.SelectorFromSet(q.team).Matches(labels.Set(known)) {
				return false
			}
		}
		return !g.Terminating && q.selector.Matches(g.Labels)
	}})
}

// want counts pods by the text of their domain.
func (q *query) want(nodes []*pernode.Node, namespaces map[string]map[string]string) (pods map[string]int32, domains map[string]bool) {
	pods, domains = map[string]int32{}, map[string]bool{}
	for _, n := range nodes {
		domain, ok := n.Object.Labels[q.topology]
		domain = "=" + domain
		if q.topology == "" {
			domain, ok = n.Object.Name, true
		} else if !ok {
			domain, ok = "none", q.absent
		}
		if !ok || q.disk != "" && n.Object.Labels["disk"] != q.disk {
			continue
		}
		domains[domain] = true
		for _, pod := range n.Placed {
			if pod.DeletionTimestamp == nil && (q.namespaces == nil || slices.Contains(q.namespaces, pod.Namespace)) &&
				q.selector.Matches(labels.Set(pod.Labels)) && labels.SelectorFromSet(q.team).Matches(labels.Set(namespaces[pod.Namespace])) {
				pods[domain]++
			}
		}
	}
	return pods, domains
}

// check compares a count with the expected numbers.
func (q *query) check(t *rapid.T, x *tally.Index, w *plugintest.LiveCluster) {
	c := q.count(x)
	nodes := w.Objects()
	want, domains := q.want(nodes, w.NamespaceLabels())
	least, total := int32(-1), int64(0)
	for domain := range domains {
		if n := want[domain]; least < 0 || n < least {
			least = n
		}
		total += int64(want[domain])
	}
	if got, ok := c.Least(); ok != (len(domains) > 0) || ok && got != least {
		t.Fatalf("%s: least is %d, %v; want %d", q.name, got, ok, least)
	}
	if c.Total() != total || c.Scope().Domains() != len(domains) {
		t.Fatalf("%s: %d pods in %d domains, want %d in %d", q.name, c.Total(), c.Scope().Domains(), total, len(domains))
	}
	dense, each := c.Dense(), map[uint32]int32{}
	for domain, n := range c.Each {
		each[domain] = n
	}
	for row, n := range nodes {
		domain := uint32(row) + 1
		text := n.Object.Name
		if q.topology != "" {
			domain = c.Scope().Topology().Domain(w.Snapshot, uint32(row))
			value, ok := n.Object.Labels[q.topology]
			if text = "=" + value; !ok {
				text = "none"
			}
			if (domain == tally.Absent) == ok || ok && c.Scope().Topology().DomainOf(w.Snapshot, value) != domain {
				t.Fatalf("%s: node %s is in domain %d", q.name, n.Object.Name, domain)
			}
		}
		if counted := q.disk == "" || n.Object.Labels["disk"] == q.disk; counted != (c.Scope().At(uint32(row)) == domain) && (text != "none" || q.absent) {
			t.Fatalf("%s: node %s counts in domain %d", q.name, n.Object.Name, c.Scope().At(uint32(row)))
		}
		var inArray int32
		if int(domain) < len(dense) {
			inArray = dense[domain]
		}
		if got := c.At(domain); got != want[text] || inArray != got || each[domain] != got {
			t.Fatalf("%s: domain %s has %d pods, %d in the array, %d of all; want %d", q.name, text, got, inArray, each[domain], want[text])
		}
		others := int32(-1)
		for d := range domains {
			if d != text && (others < 0 || want[d] < others) {
				others = want[d]
			}
		}
		if got, ok := c.LeastBut(domain); ok != (others >= 0) || ok && got != others {
			t.Fatalf("%s: least but %s is %d, %v; want %d", q.name, text, got, ok, others)
		}
	}
}

// queries covers all kinds.
func queries() []*query {
	app := func(text string) labels.Selector {
		s, err := labels.Parse(text)
		if err != nil {
			panic(err)
		}
		return s
	}
	var out []*query
	for _, topology := range []string{"", "zone", "host", "none"} {
		for i, q := range []query{
			{namespaces: []string{"a"}, selector: app("app=x")},
			{namespaces: []string{"a", "b"}, selector: app("app in (x,y),!old")},
			{selector: app("app!=x")},
			{selector: app("app=x"), team: map[string]string{"team": "red"}},
			{namespaces: []string{"a"}, selector: app("app"), disk: "ssd"},
			{namespaces: []string{"b"}, selector: app(""), disk: "hdd", absent: true},
			{namespaces: []string{"a"}, selector: app("app=x"), absent: true},
		} {
			if q.topology = topology; topology == "" && (q.disk != "" || q.absent) {
				continue
			}
			q.name = fmt.Sprint(i, topology)
			out = append(out, &q)
		}
	}
	return out
}

// machine changes a cluster at random.
type machine struct {
	*rapid.T
	w    *plugintest.LiveCluster
	next int
}

func (m *machine) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(m.T, label)
}

func (m *machine) labels(keys ...string) map[string]string {
	out := map[string]string{}
	for _, key := range keys {
		if v := m.pick(key, "", "x", "y", "absent", "absent"); v != "absent" {
			out[key] = v
		}
	}
	return out
}

func (m *machine) node() {
	name := fmt.Sprintf("n%d", rapid.IntRange(0, 9).Draw(m.T, "node"))
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: m.labels("zone", "rack")}}
	n.Labels["host"] = name
	n.Labels["disk"] = m.pick("disk", "ssd", "ssd", "hdd")
	m.w.SetNode(n)
}

func (m *machine) pod() {
	nodes := m.w.Objects()
	if len(nodes) == 0 {
		return
	}
	m.next++
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: m.pick("namespace", "a", "a", "b", "c"), Labels: m.labels("app", "old")}}
	p.Name = fmt.Sprintf("p%d", m.next)
	if rapid.IntRange(0, 3).Draw(m.T, "again") == 0 && m.next > 1 {
		p.Name = fmt.Sprintf("p%d", rapid.IntRange(1, m.next-1).Draw(m.T, "pod"))
	}
	p.UID = types.UID(p.Name)
	p.Spec.NodeName = rapid.SampledFrom(nodes).Draw(m.T, "on").Object.Name
	if rapid.IntRange(0, 9).Draw(m.T, "deleting") == 0 {
		p.DeletionTimestamp = &metav1.Time{}
	}
	m.w.SetPod(p)
}

// step makes one change.
func (m *machine) step() {
	switch rapid.IntRange(0, 10).Draw(m.T, "step") {
	case 0, 1:
		m.node()
	case 2:
		if nodes := m.w.Objects(); len(nodes) > 1 {
			m.w.RemoveNode(rapid.SampledFrom(nodes).Draw(m.T, "gone").Object.Name)
		}
	case 3, 4:
		m.w.RemovePod(types.UID(fmt.Sprintf("p%d", rapid.IntRange(0, m.next).Draw(m.T, "gone"))))
	case 5, 6:
		name := m.pick("namespace", "a", "b", "c")
		if m.pick("known", "yes", "yes", "no") == "no" {
			m.w.RemoveNamespace(name)
			return
		}
		m.w.SetNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": m.pick("team", "red", "blue")}}})
	default:
		m.pod()
	}
}

// TestIndex: after any changes, whether the index sees or misses the updates, each count equals
// one computed from scratch, also if the index drops counts.
func TestIndex(t *testing.T) {
	all := queries()
	seeded.Check(t, func(r *rapid.T) {
		m := &machine{T: r, w: plugintest.NewLiveCluster()}
		for range rapid.IntRange(1, 8).Draw(r, "nodes") {
			m.node()
		}
		x := tally.New(tally.Config{
			MaxCells:   rapid.SampledFrom([]int{0, 1, 4000}).Draw(r, "cells"),
			FewDomains: rapid.SampledFrom([]int{0, 1}).Draw(r, "few"),
		})
		for range rapid.IntRange(1, 25).Draw(r, "updates") {
			for range rapid.IntRange(0, 7).Draw(r, "steps") {
				m.step()
			}
			m.w.Update(rapid.IntRange(0, 19).Draw(r, "anew") == 0)
			if rapid.IntRange(0, 3).Draw(r, "missed") == 0 {
				continue
			}
			x.Update(m.w.Snapshot)
			for range rapid.IntRange(1, 20).Draw(r, "queries") {
				rapid.SampledFrom(all).Draw(r, "query").check(r, x, m.w)
			}
		}
	})
}
