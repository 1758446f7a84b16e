package generate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// words are strings that objects have.
type words struct {
	labels   []string            // label values
	values   []string            // annotation values
	hintKeys []string            // hints that can be keys
	told     map[string][]string // hints that are values of a key
	loose    []string            // keys of these that are only in lists of all labels
}

// New returns a generator.
func New(c Config) *Generator {
	g := &Generator{config: c, random: rand.New(rand.NewPCG(c.Seed, 0x62657274))}
	g.told = map[string][]string{}
	g.namespaces = append(append(g.namespaces, c.Namespaces...), "default", "team-a", "team-b", "no-object", strings.Repeat("x", 63))
	g.labels = []string{"", "a", "true", "gpu", "zone-1", "0", "17", "1-a", strings.Repeat("x", 63)}
	g.values = []string{
		"1", "2", "3", "größe", `{"a":[1,2]}`, "0.5", "1e3", "9223372036854775807", "-9223372036854775808", "99999999999999999999", " ",
	}
	for _, hint := range c.Hints {
		if g.tells(hint) {
			continue
		}
		// Hints occur often enough to coincide.
		for range 4 {
			if wire.IsLabelValue(hint) {
				g.labels = append(g.labels, hint)
			}
			g.values = append(g.values, hint)
		}
		for _, near := range []string{hint + "x", hint[:max(0, len(hint)-1)]} { // equal in part
			if near != "" && wire.IsLabelValue(near) {
				g.labels = append(g.labels, near)
			}
			g.values = append(g.values, near)
		}
		if isName(hint) {
			g.namespaces = append(g.namespaces, hint)
		}
		if wire.IsAnnotationKey(hint) {
			g.hintKeys = append(g.hintKeys, hint)
		}
	}
	g.values = append(g.values, g.labels...)
	g.all = g.words
	return g
}

// tells notes a hint that is a value of a declared key, and reports whether it is one.
func (g *Generator) tells(hint string) bool {
	r := g.config.Reads
	if column, value, is := wire.ColumnHint(r.ObjectColumns, hint); is {
		g.told[column] = append(g.told[column], value)
		return true
	}
	key, value, is := strings.Cut(hint, "=")
	label := slices.Contains(slices.Concat(r.NodeLabels, r.PodLabels, r.NamespaceLabels), key) && wire.IsLabelValue(value)
	loose := !label && g.lists() && wire.IsAnnotationKey(key) && wire.IsLabelValue(value)
	if is = is && (label || loose || slices.Contains(slices.Concat(r.NodeAnnotations, r.PodAnnotations), key)); is {
		if loose && len(g.told[key]) == 0 {
			g.loose = append(g.loose, key)
		}
		g.told[key] = append(g.told[key], value)
	}
	return is
}

// lists reports whether the plugin reads all labels of something, among which it looks for keys of its own.
func (g *Generator) lists() bool {
	r := g.config.Reads
	return slices.Contains(slices.Concat(r.Node, r.Pods, r.Pod, r.Namespaces), "labels") || slices.Contains(r.Pod, "namespaceLabels")
}

// Lack says whether some words that mean something to the plugin are in no label and annotation that is made next: a guest
// must not know them by the ids that they had before.
func (g *Generator) Lack(lack bool) {
	g.words = g.all
	if !lack {
		return
	}
	gone := map[string]bool{}
	for _, hint := range slices.Concat(g.config.Hints, g.all.loose) {
		_, value, is := wire.ColumnHint(g.config.Reads.ObjectColumns, hint)
		if !is {
			_, value, _ = strings.Cut(hint, "=")
		}
		gone[hint], gone[value] = g.chance(50), g.chance(50)
	}
	delete(gone, "")
	left := func(from []string) []string {
		return slices.DeleteFunc(slices.Clone(from), func(word string) bool { return gone[word] })
	}
	g.labels, g.values, g.hintKeys, g.loose = left(g.all.labels), left(g.all.values), left(g.all.hintKeys), left(g.all.loose)
	g.told = maps.Clone(g.all.told)
	for key, all := range g.told {
		g.told[key] = left(all)
	}
}

// isName reports whether s is a valid name of a namespace.
func isName(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

// tell returns one of the hints for a key, mostly.
func (g *Generator) tell(key string) (value string, told bool) {
	if all := g.told[key]; len(all) > 0 && g.chance(70) {
		return pick(g, all), true
	}
	return "", false
}

// Tell has a pod's annotations be hints only, if any are values of its keys: so the plugin makes something of it.
func (g *Generator) Tell(p *cluster.Pod) {
	told := map[string]string{}
	for _, key := range g.config.Reads.PodAnnotations {
		if all := g.told[key]; len(all) > 0 {
			told[key] = pick(g, all)
		}
	}
	if len(told) > 0 {
		p.Metadata.Annotations = told
	}
}
