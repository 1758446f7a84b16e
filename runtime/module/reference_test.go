package module_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
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
			FailurePolicy: module.FailurePolicies{All: module.Ignore},
		}},
		{text: "b.wasm?grant=bind,labels:a.com/x-,activate,labels:b.com/,annotations:a.com/", want: module.Reference{
			Path: "b.wasm", Grants: wire.ManifestDirectives{Annotations: []string{"a.com/"}, Labels: []string{"a.com/x-", "b.com/"}, Bind: true, Activate: true},
		}},
		{text: "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x", err: `reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "all" is not a grant; write nominate, bind, waiting, activate, annotations:PREFIX or labels:PREFIX, separated by commas
reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "bind:x" is not a grant; write nominate, bind, waiting, activate, annotations:PREFIX or labels:PREFIX, separated by commas
reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "labels" is not a grant; write nominate, bind, waiting, activate, annotations:PREFIX or labels:PREFIX, separated by commas
reference "b.wasm?grant=all,bind:x,labels,labels:k8s.io/x": grant: "k8s.io/x" is reserved for Kubernetes; use a domain of your own`},
		{text: "", err: `reference "": it names no .wasm file; write PATH.wasm, or PATH.wasm?weight=2&config=FILE`},
		{text: "b.wat?weight=1", err: `reference "b.wat?weight=1": it names no .wasm file; write PATH.wasm, or PATH.wasm?weight=2&config=FILE`},
		{text: "b.wasm?wieght=2&weight=2&weight=3&name&config=", err: `reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": wieght: unknown key; did you mean "weight"?
reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": weight: the key appears twice; keep one
reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": name: it has no value; write name=…
reference "b.wasm?wieght=2&weight=2&weight=3&name&config=": config: it has no value; write config=…`},
		{text: "b.wasm?weight=0", err: `reference "b.wasm?weight=0": weight: "0" is not a weight; write a whole number from 1`},
		{text: "b.wasm?failurePolicy=fail", err: `reference "b.wasm?failurePolicy=fail": failurePolicy: "fail" is not a policy; write Fail or Ignore`},
		{text: "b.wasm?namespaces=a,,b", err: `reference "b.wasm?namespaces=a,,b": namespaces: "" is not a namespace name; use lower-case letters, digits and dashes`},
		{text: "b.wasm?namespaces=a,a", err: `reference "b.wasm?namespaces=a,a": namespaces: "a" appears twice; keep one`},
		{text: "b.wasm?name=-a", err: `reference "b.wasm?name=-a": name: "-a" is not a plugin name; use at most 63 letters, digits, dashes, dots and underscores`},
		{text: "b.wasm?digest=md5:00", err: `reference "b.wasm?digest=md5:00": digest: "md5:00" is not a digest; write sha256: and 64 hexadecimal digits, as berth plugin inspect prints`},
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

func TestDecodeArgs(t *testing.T) {
	digest := zeroes()
	const head = `"apiVersion":"berth.dev/v1alpha1","kind":"WasmPluginArgs",`
	cases := []struct {
		text string
		want *module.WasmPluginArgs
		err  string
	}{
		{text: `{` + head + `"module":{"path":"a.wasm"}}`, want: &module.WasmPluginArgs{Module: module.ArgsModule{Path: "a.wasm"}, Config: []byte("{}")}},
		{text: `{` + head + `"module":{"path":"a.wasm"},"config":{"b":[1.0],"a":{}},"namespaces":["y","x"],"failurePolicy":{"filter":"Ignore"}}`,
			want: &module.WasmPluginArgs{
				Module: module.ArgsModule{Path: "a.wasm"}, Config: []byte(`{"a":{},"b":[1.0]}`), Namespaces: []string{"x", "y"},
				FailurePolicy: module.FailurePolicies{Points: map[string]module.FailurePolicy{"filter": module.Ignore}},
			}},
		{text: `{` + head + `"module":{"path":"a.wasm"},"grants":{"annotations":["example.com/"],"waiting":true},` +
			`"limits":{"fuelPerCall":7,"fuelPerRow":8,"fuelPerCycle":9,"fuelStart":10,"deadline":"1500ms","memory":"32Mi","depth":11,"tableElements":12}}`,
			want: &module.WasmPluginArgs{
				Module: module.ArgsModule{Path: "a.wasm"}, Config: []byte(`{}`),
				Grants: wire.ManifestDirectives{Annotations: []string{"example.com/"}, Waiting: true},
				Limits: module.Limits{
					FuelPerCall: 7, FuelPerRow: 8, FuelPerCycle: 9, FuelStart: 10, Deadline: 1500 * time.Millisecond, Memory: 32 << 20, Depth: 11, TableElements: 12,
				},
			}},
		{text: `{` + head + `"module":{"path":"a.wasm"},"grants":{"annotations":["k8s.io/x","a b"],"bind":"yes","fly":true},` +
			`"limits":{"fuelPerCall":0,"fuel":1,"deadline":"soon","memory":"9Gi","depth":"deep"}}`, err: `p.args.grants.bind: expected true or false, found "yes"
p.args.grants.fly: unknown field; known are activate, annotations, bind, labels, nominate, waiting
p.args.grants.annotations[0]: "k8s.io/x" is reserved for Kubernetes; use a domain of your own
p.args.grants.annotations[1]: "a b" is not well formed; write the beginning of keys with their domain, such as example.com/ or example.com/gpu-
p.args.limits.deadline: "soon" is not a duration of at least 1ms; write 500ms or 2s
p.args.limits.depth: "deep" is not a valid limit; write a whole number from 1 to 1000000
p.args.limits.fuel: unknown field
p.args.limits.fuelPerCall: 0 is not a valid limit; write a whole number from 1 to 1125899906842624
p.args.limits.memory: "9Gi" is not a size from 64Ki to 3Gi; write it as 64Ki`},
		{text: `[]`, err: `p.args: expected an object, found a list`},
		{text: `{`, err: `p.args: invalid JSON: the text ends too early`},
		{text: `{"kind":"A","kind":"A"}`, err: `p.args.kind: the field appears twice; keep one`},
		{text: `{"kind":"NodeAffinityArgs","modul":{}}`, err: `p.args.kind: expected "WasmPluginArgs", found "NodeAffinityArgs"; write WasmPluginArgs
p.args.modul: unknown field; did you mean "module"?
p.args.apiVersion: it is missing; add apiVersion
p.args.module: it is missing; add module`},
		{text: `{` + head + `"module":{"digest":"sha256:0","url":7},"config":null,"namespaces":["a",1,"b"],"failurePolicy":"Retry"}`, err: `p.args.config: expected an object, found null; leave it out if there is nothing to configure
p.args.failurePolicy: "Retry" is not a policy; write Fail or Ignore
p.args.module.digest: "sha256:0" is not a digest; write sha256: and 64 hexadecimal digits, as berth plugin inspect prints
p.args.module.url: expected a string, found 7
p.args.namespaces[1]: expected a string, found 1`},
		{text: `{` + head + `"module":{"image":"r/p:1","path":"p.wasm"}}`, err: `p.args.module.image: the module is given twice, by path as well; keep one`},
		{text: `{` + head + `"module":{"digest":"` + digest + `"}}`, err: `p.args.module: it names no module; add path, url or image`},
		{text: `{` + head + `"module":{"url":"https://h/p.wasm"}}`, err: `p.args.module.digest: it is missing; add the module's digest, as berth plugin inspect prints it: a server can replace the file`},
		{text: `{` + head + `"module":{"url":"ftp://h/p.wasm","digest":"` + digest + `"}}`, err: `p.args.module.url: "ftp://h/p.wasm" is not an https URL; write https://HOST/PATH`},
		{text: `{` + head + `"module":{"path":""},"namespaces":["a","A"],"failurePolicy":{"filtre":"Fail","score":true}}`, err: `p.args.failurePolicy.filtre: unknown field; did you mean "filter"?
p.args.failurePolicy.score: true is not a policy; write Fail or Ignore
p.args.module.path: it is empty; write the path of the module's file
p.args.namespaces[1]: "A" is not a namespace name; use lower-case letters, digits and dashes`},
	}
	for _, c := range cases {
		got, err := module.DecodeArgs([]byte(c.text), "p.args")
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
	p := module.FailurePolicies{All: module.Ignore, Points: map[string]module.FailurePolicy{"preFilter": module.Fail}}
	if p.For(abi.PreFilter) != module.Fail || p.For(abi.Filter) != module.Ignore {
		t.Errorf("got %s and %s", p.For(abi.PreFilter), p.For(abi.Filter))
	}
	var none module.FailurePolicies
	for point, want := range map[abi.Point]module.FailurePolicy{
		abi.PreFilter: module.Fail, abi.Filter: module.Fail, abi.PreScore: module.Ignore, abi.Score: module.Ignore, abi.Normalize: module.Ignore,
		abi.PreEnqueue: module.Fail, abi.Reserve: module.Fail, abi.Unreserve: module.Ignore, abi.Permit: module.Fail, abi.Bind: module.Fail, abi.PostBind: module.Ignore,
	} {
		if got := none.For(point); got != want {
			t.Errorf("%v: got %s, want %s", point, got, want)
		}
	}
}
