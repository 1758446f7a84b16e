package hostplugins_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// wakeTable is the file wakes.yaml next to a plugin.
type wakeTable struct {
	Plugin  string `json:"plugin"`
	Reasons []struct {
		Reason string `json:"reason"`
		// Because says why there are no events.
		Because string `json:"because"`
		Events  []struct {
			Event string `json:"event"` // RESOURCE/ACTION
			Which string `json:"which"`
		} `json:"events"`
	} `json:"reasons"`
}

func wakeTables(t *testing.T) (out []wakeTable) {
	t.Helper()
	files, err := filepath.Glob("*/wakes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w wakeTable
		if err := yaml.UnmarshalStrict(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, w)
	}
	return out
}

// parseWake parses RESOURCE/ACTION; a resource may contain a slash.
func parseWake(t *testing.T, text string) state.ClusterEvent {
	t.Helper()
	at := strings.LastIndex(text, "/")
	if at < 0 {
		t.Fatalf("%q is not RESOURCE/ACTION", text)
	}
	action, ok := state.ParseAction(text[at+1:])
	if text[at+1:] == "UpdateOther" {
		action, ok = state.UpdateOther, true
	}
	if !ok {
		t.Fatalf("%q is not an action", text[at+1:])
	}
	return state.ClusterEvent{Resource: state.EventResource(text[:at]), Action: action}
}

// TestWakeTables: the tables name all that plugins register and nothing else, each plugin that rejects pods has one, and
// docs/hints.md consists of them. TestHintsWake of runtime/assembly holds them against what plugins decide.
func TestWakeTables(t *testing.T) {
	tables := wakeTables(t)
	registry := hostplugins.All(hostplugins.Deps{Binder: &binder{}, ResizePreemption: true})
	for _, name := range registry.Names() {
		p, err := registry.New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(tables, func(w wakeTable) bool { return w.Plugin == name })
		if at < 0 {
			if len(p.Info().Events) > 0 {
				t.Errorf("%s registers events, but has no wakes.yaml", name)
			}
			continue
		}
		if name != "DefaultPreemption" { // only its pods that are held back look for pods that leave
			compareWakes(t, &tables[at], p)
		}
	}
	page, err := os.ReadFile("../docs/hints.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(page), "\n## ")
	golden.Check(t, "../docs/hints.md", []byte(strings.TrimSuffix(head, "\n")+"\n"+renderWakes(tables)))
}

func compareWakes(t *testing.T, w *wakeTable, p plugin.Plugin) {
	t.Helper()
	listed := map[state.EventResource]state.Action{}
	for _, r := range w.Reasons {
		if (len(r.Events) == 0) != (r.Because != "") {
			t.Errorf("%s: %q must have events or a reason why there are none", w.Plugin, r.Reason)
		}
		for _, e := range r.Events {
			event := parseWake(t, e.Event)
			listed[event.Resource] |= event.Action
		}
	}
	registered := map[state.EventResource]state.Action{}
	for _, e := range p.Info().Events {
		registered[e.Resource] |= e.Action
	}
	for _, m := range []map[state.EventResource]state.Action{listed, registered} {
		for resource := range m {
			a, b := listed[resource], registered[resource]
			if a != b {
				t.Errorf("%s: %s: the table has actions %b, the plugin registers %b", w.Plugin, resource, a, b)
			}
		}
	}
}

func renderWakes(tables []wakeTable) string {
	var b strings.Builder
	for _, w := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n| reason | woken by |\n|---|---|\n", w.Plugin)
		var texts []string
		reasons := make(map[string][]string)
		for _, r := range w.Reasons {
			text := r.Because
			for i, e := range r.Events {
				switch {
				case i > 0 && (e.Which == r.Events[i-1].Which || e.Which == "the same"): // one text for several events
					at := strings.LastIndex(text, "`: ") + 1
					text = text[:at] + ", `" + e.Event + "`" + text[at:]
					continue
				case i > 0:
					text += "<br>"
				}
				text += "`" + e.Event + "`: " + e.Which
			}
			if reasons[text] == nil {
				texts = append(texts, text)
			}
			reasons[text] = append(reasons[text], r.Reason)
		}
		for _, text := range texts {
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(reasons[text], "<br>"), text)
		}
	}
	return b.String()
}
