package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestManifestDirectives: ABI-9.11. Prefixes cover keys, and a shorter prefix in a grant covers
// longer ones; JSON that is written reads the same.
func TestManifestDirectives(t *testing.T) {
	d := wire.ManifestDirectives{Annotations: []string{"example.com/gpu-"}, Labels: []string{"example.com/"}, Waiting: true}
	for _, c := range []struct {
		kind abi.DirectiveKind
		key  string
		want bool
	}{
		{abi.Annotate, "example.com/gpu-0", true},
		{abi.Annotate, "example.com/gpu", false},
		{abi.Annotate, "other.com/gpu-0", false},
		{abi.Label, "example.com/anything", true},
		{abi.Label, "example.community/x", false},
		{abi.Nominate, "", false},
		{abi.BindPod, "", false},
		{abi.Allow, "", true},
		{abi.Reject, "", true},
		{abi.Activate, "", false},
		{0, "example.com/gpu-0", false},
	} {
		if got := d.Allows(c.kind, c.key); got != c.want {
			t.Errorf("%v of %q: %v, want %v", c.kind, c.key, got, c.want)
		}
	}
	grant := wire.ManifestDirectives{Annotations: []string{"example.com/"}, Labels: []string{"example.com/a"}, Bind: true}
	if diff := cmp.Diff(wire.ManifestDirectives{Labels: []string{"example.com/"}, Waiting: true}, d.Missing(&grant)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if missing := d.Missing(&d); !missing.Empty() || d.Empty() {
		t.Errorf("of its own it misses %+v", missing)
	}
	all := wire.ManifestDirectives{Annotations: []string{"a.b/"}, Labels: []string{"c.d/e-"}, Nominate: true, Bind: true, Waiting: true, Activate: true}
	m, err := wire.DecodeManifest([]byte(`{"directives":` + all.JSON() + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, m.Directives); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

// TestManifestDirectivesRefuses: invalid prefixes.
func TestManifestDirectivesRefuses(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"example.com/": true, "example.com/a": true, "example.com/a-": true, "a/": true,
		"": false, "example.com": false, "/": false, "/a": false, "Example.com/": false, "example.com/-a": false, "example.com/a b": false,
		"kubernetes.io/": false, "k8s.io/": false, "node.kubernetes.io/x": false, "mykubernetes.io/": true,
	} {
		d := wire.ManifestDirectives{Annotations: []string{prefix}}
		if err := d.Validate("directives"); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
