package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
)

// brought is a catalog of few plugins.
func brought() config.Catalog {
	return config.Catalog{
		Known:   []string{"Sort", "Bind", "Fit"},
		Default: []config.PluginWeight{{Name: "Sort"}, {Name: "Fit"}, {Name: "Bind"}},
		Points: func(name string) []string {
			return map[string][]string{"Sort": {"queueSort"}, "Fit": {"filter"}, "Bind": {"bind"}}[name]
		},
	}
}

// loaded is a module of a path. It filters and scores; sort.wasm sorts the queue as well.
type loaded string

func (l loaded) Points() []string {
	if l == "sort.wasm" {
		return []string{"queueSort", "filter", "score"}
	}
	return []string{"filter", "score"}
}

func (l loaded) Args() *v1alpha1.WasmPluginArgs {
	return &v1alpha1.WasmPluginArgs{Module: v1alpha1.FileModule{Path: string(l)}}
}

// load loads a module for Resolve: broken cannot be, and absent is left out.
func load(_ string, spec *v1alpha1.WasmPluginArgs) (config.Module, error) {
	switch path := spec.Module.Path; path {
	case "broken":
		return nil, errors.New("it is broken")
	case "absent":
		return nil, nil
	default:
		return loaded(path), nil
	}
}

// TestModules: modules are read without loading them, and then resolved.
func TestModules(t *testing.T) {
	const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- "
	enabled := header + "plugins: {multiPoint: {enabled: [{name: mine, weight: 3}]}}\n  pluginConfig:\n"
	args := func(name, path string) string {
		return "  - {name: " + name + ", args: {apiVersion: berth.dev/v1alpha1, kind: WasmPluginArgs, module: {path: " + path + "}}}\n"
	}
	const needs = "if it is a module, give it WasmPluginArgs: add to pluginConfig of the same profile " +
		`{name: "mine", args: {apiVersion: berth.dev/v1alpha1, kind: WasmPluginArgs, module: {path: FILE.wasm}}}`
	for _, test := range []struct{ name, text, want string }{
		{"enabled", enabled + args("mine", "a.wasm"), ""},
		{"broken", enabled + args("mine", "broken"), "f:6: profiles[0].pluginConfig[0].args: it is broken"},
		{"another kind of the group", enabled + strings.Replace(args("mine", "broken"), "WasmPluginArgs", "WasmPluginArg", 1),
			`args.kind: invalid value: "WasmPluginArg": write WasmPluginArgs`},
		{"another group", enabled + strings.Replace(strings.Replace(args("mine", "a.wasm"), "WasmPluginArgs", "Other", 1),
			"berth.dev", "other.example", 1), `unknown plugin "mine"`},
		{"no entry", enabled[:strings.LastIndex(enabled, "  pluginConfig")], "f:4: profiles[0].plugins.multiPoint.enabled[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"no args", enabled + "  - {name: mine}\n", "f:6: profiles[0].pluginConfig[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"args without a kind", enabled + "  - {name: mine, args: {from: here}}\n", "f:4: profiles[0].plugins.multiPoint.enabled[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"args in another profile", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: a\n  pluginConfig:\n" + args("mine", "a.wasm") +
			"- schedulerName: b\n  plugins: {filter: {enabled: [{name: mine}]}}\n", "f:8: profiles[1].plugins.filter.enabled[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"a name like no other", header + "plugins: {filter: {enabled: [{name: pools-of-mine}]}}\n", "(docs/library.md); " + strings.Replace(needs, "mine", "pools-of-mine", 1)},
		{"a point that it does not implement", header + "plugins: {reserve: {enabled: [{name: mine}]}}\n  pluginConfig:\n" + args("mine", "a.wasm"),
			`f:4: profiles[0].plugins.reserve.enabled[0].name: plugin "mine" does not implement reserve; it implements: filter, score`},
		{"two sort the queue", enabled + args("mine", "sort.wasm"), "f:4: profiles[0].plugins.queueSort: 2 queueSort plugins are enabled (Sort, mine), one is needed"},
		{"two sort the queue of a file", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: a\n" +
			"  plugins: {queueSort: {enabled: [{name: mine}], disabled: [{name: Sort}]}}\n  pluginConfig:\n" + args("mine", "sort.wasm") + "- schedulerName: b\n",
			"f:8: profiles[1].plugins.queueSort: the queueSort plugin is Sort, but mine in profiles[0]"},
		{"name of a built plugin", header + "pluginConfig:\n" + args("Fit", "a.wasm"), `"Fit" is the name of a plugin of kube-scheduler`},
		{"twice", enabled + args("mine", "a.wasm") + args("mine", "a.wasm"), "has args in pluginConfig[0] already"},
	} {
		s, warnings, err := config.Parse([]byte(test.text), "f", brought())
		if err == nil {
			err = s.Resolve(load)
		}
		switch {
		case test.want != "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.name, err, test.want)
			}
			continue
		case err != nil || len(warnings) > 0:
			t.Errorf("%s: %v, warnings %v", test.name, err, warnings)
			continue
		}
		p := s.Profiles[0]
		want := map[string][]config.PluginRef{"filter": {{Name: "Fit"}, {Name: "mine"}}, "score": {{Name: "mine", Weight: 3}}}
		for point, refs := range want {
			if !slices.Equal(p.Points[point], refs) {
				t.Errorf("%s: %s has %v, want %v", test.name, point, p.Points[point], refs)
			}
		}
		if p.Args["mine"].Module != loaded("a.wasm") {
			t.Errorf("%s: args are %v", test.name, p.Args["mine"])
		}
	}
	s, _, err := config.Parse([]byte(enabled+args("mine", "absent")), "f", brought())
	if err == nil {
		err = s.Resolve(load)
	}
	if _, left := s.Profiles[0].Args["mine"]; err != nil || left || len(s.Profiles[0].Points) != 3 {
		t.Errorf("left out: %v, %+v", err, s.Profiles[0])
	}
	// What is left out hides no mistake of another profile.
	for mistake, want := range map[string]string{
		"multiPoint: {disabled: [{name: Bind}]}": "f:8: profiles[1].plugins.bind: no bind plugin is left",
		"queueSort: {enabled: [{name: mine}]}":   "f:8: profiles[1].plugins.queueSort: 2 queueSort plugins are enabled (Sort, mine), one is needed",
	} {
		s, _, err := config.Parse([]byte(strings.Replace(enabled, "- plugins", "- schedulerName: a\n  plugins", 1)+args("mine", "absent")+
			"- schedulerName: b\n  plugins: {"+mistake+"}\n  pluginConfig:\n"+args("mine", "sort.wasm")), "f", brought())
		if err == nil {
			err = s.Resolve(load)
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "f:8: ")) {
			t.Errorf("%s: %v, want %s", mistake, err, want)
		}
	}
	_, warnings, err := config.Parse([]byte(header+"pluginConfig:\n"+args("mine", "a.wasm")), "f", brought())
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "enabled at no point") {
		t.Errorf("not enabled: %v, warnings %v", err, warnings)
	}
}

// TestWasmPluginArgs: all mistakes in args are reported, each with its path.
func TestWasmPluginArgs(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	const head = `"apiVersion":"berth.dev/v1alpha1","kind":"WasmPluginArgs",`
	for _, c := range []struct{ args, want string }{
		{`{` + head + `"module":{"path":"a.wasm"}}`, ``},
		{`{` + head + `"module":{"path":"a.wasm"},"mode":off}`, `mode: expected a string, found false; quote it: "off"`},
		{`{` + head + `"module":{"path":"a.wasm"},"config":null,"failurePolicy":{"filter":"Ignore"},"namespaces":["y","x"]}`, ``},
		{`{` + head + `"module":{"path":"a.wasm"},"grants":{"annotations":["k8s.io/x","a b"],"bind":"yes","fly":true},` +
			`"limits":{"fuelPerCall":0,"fuel":1,"deadline":"soon","memory":"9Gi","depth":"deep","globals":1000001}}`,
			`grants.annotations[0]: invalid value: "k8s.io/x" is reserved for Kubernetes: use a domain of your own
grants.annotations[1]: invalid value: "a b" is not well formed: write the beginning of keys with their domain, such as example.com/ or example.com/gpu-
grants.bind: expected true or false, found the string "yes"
grants.fly: unknown field; the fields here are activate, annotations, bind, labels, nominate, objects, waiting
limits.deadline: invalid value: "soon": write a duration of at least 1ms, as 500ms or 2s
limits.depth: expected a 64-bit integer, found the string "deep"
limits.fuel: unknown field; the fields here are configSize, deadline, depth, directiveSize, fuelPerCall, fuelPerCycle, fuelPerCycleRow, fuelPerRow, ` +
				`fuelRestarts, fuelStart, functions, globals, locals, logSize, memory, memoryTotal, moduleSize, nesting, reasonSize, stateSize, tableElements
limits.fuelPerCall: invalid value: 0: write a whole number from 1 to 1125899906842624
limits.globals: invalid value: 1000001: write a whole number from 1 to 1000000
limits.memory: invalid value: "9Gi": write a size from 64Ki to 3Gi, as 64Ki`},
		{`{"kind":"NodeAffinityArgs","apiVersion":"berth.dev/v1alpha1","modul":{}}`,
			`kind: invalid value: "NodeAffinityArgs": write WasmPluginArgs
modul: unknown field; did you mean "module"?
module: required value: it names no module: add path, url or image`},
		{`{"kind":"NodeAffinityArgs","apiVersion":"berth.dev/v1","module":{}}`,
			`apiVersion: invalid value: "berth.dev/v1": write berth.dev/v1alpha1
kind: invalid value: "NodeAffinityArgs": write WasmPluginArgs
module: required value: it names no module: add path, url or image`},
		{`{` + head + `"module":{"digest":"sha256:0","url":7},"namespaces":["a",1,"b"],"failurePolicy":"Retry","mode":3}`,
			`failurePolicy: invalid value: "Retry" is not a policy; write Fail or Ignore
mode: expected a string, found the number 3; quote it: "3"
module: required value: it names no module: add path, url or image
module.digest: invalid value: "sha256:0": write sha256: and 64 hexadecimal digits, as berth plugin inspect prints
module.url: expected a string, found the number 7; quote it: "7"
namespaces[1]: expected a string, found the number 1; quote it: "1"`},
		{`{` + head + `"module":{"image":"r/p:1","path":"p.wasm","digest":"sha256:0"},"mode":"Off","replaces":"q"}`,
			`mode: unsupported value: "Off": supported values: "Enforce", "Shadow", "Disabled"
module.digest: invalid value: "sha256:0": write sha256: and 64 hexadecimal digits, as berth plugin inspect prints
module.image: forbidden: the module is given by path as well: keep one
replaces: forbidden: only a plugin in mode Shadow takes another one's place: add mode Shadow, or leave it out`},
		{`{` + head + `"module":{"digest":"` + digest + `"}}`, `module: required value: it names no module: add path, url or image`},
		{`{` + head + `"module":{"url":"https://h/p.wasm"}}`,
			`module.digest: required value: add the module's digest, as berth plugin inspect prints it: a server can replace the file`},
		{`{` + head + `"module":{"url":"ftp://h/p.wasm","digest":"` + digest + `"}}`,
			`module.url: invalid value: "ftp://h/p.wasm": write https://HOST/PATH`},
		{`{` + head + `"module":{"path":""},"namespaces":["a","A","a"],"failurePolicy":{"filtre":"Fail"}}`,
			`failurePolicy: invalid value: filtre: unknown point; did you mean "filter"?
module: required value: it names no module: add path, url or image
namespaces[1]: invalid value: "A": write a namespace's name: lower-case letters, digits and dashes
namespaces[2]: duplicate value: "a"`},
		{`{` + head + `"module":{"path":"a.wasm"},"failurePolicy":{"score":true},"namespaces":[],"config":[]}`,
			`config: invalid value: write an object, or leave it out if there is nothing to configure
failurePolicy: invalid value: score: true is not a policy; write Fail or Ignore
namespaces: required value: list namespaces, or leave the field out for all`},
	} {
		text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins: {multiPoint: {enabled: [{name: mine}]}}\n" +
			"  pluginConfig:\n  - {name: mine, args: " + c.args + "}\n"
		_, _, err := config.Parse([]byte(text), "f", brought())
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), "f:6: profiles[0].pluginConfig[0].args.", "")
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
}
