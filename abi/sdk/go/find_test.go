package berth

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// finder looks up a name when it is configured.
type finder struct {
	Base
	configure func(config []byte) error
}

func (p *finder) Configure(config []byte) error { return p.configure(config) }

// TestFromConfig: a guest finds the names of a configuration where the host has them (ABI-9.15), and has room for their columns.
func TestFromConfig(t *testing.T) {
	text, err := os.ReadFile("../../vectors/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, Config, Refused string
		Elements              json.RawMessage
		Names                 []string
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	for _, v := range all {
		p := &finder{Base: Load([]byte(`{"reads":{"nodeLabels":` + string(v.Elements) + `}}`))}
		p.configure = func([]byte) error {
			_, found := p.FindNodeLabel("never")
			if found {
				t.Errorf("%s: a name is found that is nowhere", v.Name)
			}
			for i, name := range v.Names {
				if at, ok := p.FindNodeLabel(name); !ok || int(at) != i || p.NodeLabel(name) != at {
					t.Errorf("%s: %s is at %d, %v; want %d", v.Name, name, at, ok, i)
				}
			}
			return nil
		}
		n := NewNative(p, nil)
		at := n.Alloc(uint32(len(v.Config)), 1)
		copy(n.Memory()[at:], v.Config)
		if n.Configure(at, uint32(len(v.Config))) != 0 {
			t.Errorf("%s: the configuration is refused", v.Name)
		}
		if got := p.c.reads.lists[listNodeLabels]; v.Refused == "" && (!slices.Equal(got, v.Names) || len(p.c.columns.nodeLabel) != len(got)) {
			t.Errorf("%s: the list is %v with room for %d, want %v", v.Name, got, len(p.c.columns.nodeLabel), v.Names)
		}
	}
}

// TestFinds: each list has a lookup that reports whether a name is there.
func TestFinds(t *testing.T) {
	b := Load([]byte(`{"reads":{
		"resources":["a"],"nodeLabels":["b"],"nodeAnnotations":["c"],"feeds":["d"],"podLabels":["e"],"podAnnotations":["f"]
	}}`))
	for name, find := range map[string]func(string) (uint32, bool){
		"a": func(s string) (uint32, bool) { h, ok := b.FindResource(s); return uint32(h), ok },
		"b": func(s string) (uint32, bool) { h, ok := b.FindNodeLabel(s); return uint32(h), ok },
		"c": func(s string) (uint32, bool) { h, ok := b.FindNodeAnnotation(s); return uint32(h), ok },
		"d": func(s string) (uint32, bool) { h, ok := b.FindFeed(s); return uint32(h), ok },
		"e": func(s string) (uint32, bool) { h, ok := b.FindPodLabel(s); return uint32(h), ok },
		"f": func(s string) (uint32, bool) { h, ok := b.FindPodAnnotation(s); return uint32(h), ok },
	} {
		if at, ok := find(name); !ok || at != 0 {
			t.Errorf("%s is at %d, %v", name, at, ok)
		}
		if _, ok := find("other"); ok {
			t.Errorf("beside %s there is another", name)
		}
	}
}
