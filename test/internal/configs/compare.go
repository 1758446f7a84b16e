package configs

import (
	"context"
	"strings"
	"sync"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/berth-scheduler/berth/test/internal/compare"
)

// allPoints asks kube-scheduler once which points its default plugins have.
var allPoints = sync.OnceValue(func() map[string]map[string]bool { //nolint:gochecknoglobals // a constant that is costly to make
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := scheduler.New(ctx, fake.NewSimpleClientset(), informers.NewSharedInformerFactory(nil, 0), nil,
		func(string) events.EventRecorderLogger { return noEvents{} })
	if err != nil {
		panic("BUG: kube-scheduler refuses its own defaults: " + err.Error())
	}
	out := make(map[string]map[string]bool)
	for i, set := range sets(s.Profiles["default-scheduler"].ListPlugins()) {
		for _, e := range set.Enabled {
			if out[e.Name] == nil {
				out[e.Name] = make(map[string]bool)
			}
			out[e.Name][points()[i]] = true
		}
	}
	return out
})

// Tree compares one file.
func Tree(tree map[string]any, n *compare.Counts) []compare.Difference {
	return File(marshal(tree), n)
}

// File compares one file.
func File(data []byte, n *compare.Counts) (differences []compare.Difference) {
	n.Cases++
	n.Steps++
	differ := func(what, ours, theirs string) {
		d := compare.Difference{Plugin: Name, What: what, Where: "file", Ours: ours, Theirs: theirs}
		n.Note(&d)
		differences = append(differences, d)
	}
	a, ourErr := ours(data)
	b, theirErr := theirs(data)
	switch {
	case ourErr != nil && theirErr != nil:
		n.Refused++
		return nil
	case ourErr != nil:
		if !strict(ourErr) {
			differ("refused by ours", ourErr.Error(), "accepted")
		}
		return differences
	case theirErr != nil:
		if !lenient(theirErr) {
			differ("refused by theirs", "accepted", theirErr.Error())
		}
		return differences
	}
	x, y := make(map[string]bool), make(map[string]bool)
	for _, line := range a {
		x[line] = true
	}
	for _, line := range b {
		y[line] = true
	}
	var more, less []string
	for _, line := range a {
		if !y[line] {
			more = append(more, line)
		}
	}
	for _, line := range b {
		if !x[line] {
			less = append(less, line)
		}
	}
	if more != nil || less != nil {
		differ("result", strings.Join(more, "; "), strings.Join(less, "; "))
	}
	return differences
}

// strict reports whether all mistakes are such as only Berth refuses, which
// docs/differences.md lists below its first table.
func strict(err error) bool {
	for line := range strings.Lines(err.Error()) {
		ok := false
		for _, text := range []string{
			`"*" stands for all plugins only under disabled`, "is listed twice", "takes no args", "the weight is -",
		} {
			ok = ok || strings.Contains(line, text)
		}
		if !ok {
			return false
		}
	}
	return true
}

// lenient reports whether kube-scheduler refuses what nobody checks in Berth: args
// and points of plugins that are not built (docs/differences.md, "Not yet").
func lenient(error) bool { return false }
