package module_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
)

// zeroes returns a valid digest.
func zeroes() string { return "sha256:" + strings.Repeat("0a", 32) }

func TestParseReference(t *testing.T) {
	digest := zeroes()
	cases := []struct {
		text string
		want module.Reference
		err  string
	}{
		{text: "a/b.wasm", want: module.Reference{Path: "a/b.wasm"}},
		{text: "b.wasm?", want: module.Reference{Path: "b.wasm"}},
		{text: "what?/b.wasm?weight=2&config=c%26.yaml&namespaces=b,a&failurePolicy=Ignore&name=My.plugin&digest=" + digest, want: module.Reference{
			Path: "what?/b.wasm", Weight: 2, ConfigFile: "c&.yaml", Namespaces: []string{"a", "b"}, Name: "My.plugin", Digest: digest,
			FailurePolicy: module.FailurePolicies{All: v1alpha1.Ignore},
		}},
		{text: "b.wasm?grant=bind,labels:a.com/x-,activate,labels:b.com/,annotations:a.com/", want: module.Reference{
			Path: "b.wasm", Grants: wire.ManifestDirectives{Annotations: []string{"a.com/"}, Labels: []string{"a.com/x-", "b.com/"}, Bind: true, Activate: true},
		}},
		{text: "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x", err: `reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "all" is not a grant; write nominate, bind, waiting, activate, annotations:PREFIX, labels:PREFIX or objects:RESOURCE, separated by commas
reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "bind:x" is not a grant; write nominate, bind, waiting, activate, annotations:PREFIX, labels:PREFIX or objects:RESOURCE, separated by commas
reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "labels" is not a grant; write nominate, bind, waiting, activate, annotations:PREFIX, labels:PREFIX or objects:RESOURCE, separated by commas
reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "k8s.io/x" is reserved for Kubernetes; use a domain of your own`},
		{text: "", err: `reference "": it names no .wasm file; write PATH.wasm, or PATH.wasm?weight=2&config=FILE`},
		{text: "b.wat?weight=1", err: `reference "b.wat?weight=1": it names no .wasm file; write PATH.wasm, or PATH.wasm?weight=2&config=FILE`},
		{text: "b.wasm?wieght=2&weight=2&weight=3&name&config=", err: `reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": wieght: unknown key; did you mean "weight"?
reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": weight: the key appears twice; keep one
reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": name: it has no value; write name=…
reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": config: it has no value; write config=…`},
		{text: "b.wasm?weight=0", err: `reference "b.wasm?weight=0": weight: "0" is not a weight; write a whole number from 1`},
		{text: "b.wasm?failurePolicy=fail", err: `reference "b.wasm?failurePolicy=fail": failurePolicy: "fail" is not a policy; write Fail or Ignore`},
		{text: "b.wasm?namespaces=a,,b", err: `reference "b.wasm?namespaces=a,,b": namespaces[1]: Invalid value: "": write a namespace's name: lower-case letters, digits and dashes`},
		{text: "b.wasm?namespaces=a,a", err: `reference "b.wasm?namespaces=a,a": namespaces[1]: Duplicate value: "a"`},
		{text: "b.wasm?name=-a", err: `reference "b.wasm?name=-a": name: "-a" is not a plugin name; use at most 63 letters, digits, dashes, dots and underscores`},
		{text: "b.wasm?digest=md5:00", err: `reference "b.wasm?digest=md5:00": digest: Invalid value: "md5:00": write sha256: and 64 hexadecimal digits, as berth plugin inspect prints`},
		{text: "b.wasm?config=%zz", err: `reference "b.wasm?config=%zz": config: invalid URL escape "%zz"; write a percent sign as %25`},
	}
	for _, c := range cases {
		got, err := module.ParseReference(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
		if diff := cmp.Diff(c.err, message(err)); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", c.text, diff)
		}
	}
}

// TestPolicies: the policy of the point comes first, then the one for all points, then the
// default.
func TestPolicies(t *testing.T) {
	p := module.FailurePolicies{All: v1alpha1.Ignore, Points: map[string]v1alpha1.FailurePolicy{"preFilter": v1alpha1.Fail}}
	if p.For(abi.PreFilter) != v1alpha1.Fail || p.For(abi.Filter) != v1alpha1.Ignore {
		t.Errorf("got %s and %s", p.For(abi.PreFilter), p.For(abi.Filter))
	}
	var none module.FailurePolicies
	for point, want := range map[abi.Point]v1alpha1.FailurePolicy{
		abi.PreFilter: v1alpha1.Fail, abi.Filter: v1alpha1.Fail, abi.PreScore: v1alpha1.Ignore, abi.Score: v1alpha1.Ignore,
		abi.Normalize:  v1alpha1.Ignore,
		abi.PreEnqueue: v1alpha1.Fail, abi.Reserve: v1alpha1.Fail, abi.Unreserve: v1alpha1.Ignore, abi.Permit: v1alpha1.Fail,
		abi.Bind: v1alpha1.Fail, abi.PostBind: v1alpha1.Ignore,
	} {
		if got := none.For(point); got != want {
			t.Errorf("%v: got %s, want %s", point, got, want)
		}
	}
}
