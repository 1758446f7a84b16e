package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/config"
)

// brought is a catalog in which args of kind Brought define a plugin.
func brought() config.Catalog {
	return config.Catalog{
		Known:   []string{"Sort", "Bind", "Fit"},
		Default: []config.PluginWeight{{Name: "Sort"}, {Name: "Fit"}, {Name: "Bind"}},
		Points: func(name string) []string {
			return map[string][]string{"Sort": {"queueSort"}, "Fit": {"filter"}, "Bind": {"bind"}}[name]
		},
		CustomVersion: "example.com/v1", CustomKind: "Brought", CustomFields: "from: FILE",
		Custom: func(_ string, args config.Args) ([]string, any, error) {
			if strings.Contains(string(args.Raw), "broken") {
				return nil, nil, errors.New("it is broken")
			}
			return []string{"filter", "score"}, "typed", nil
		},
	}
}

func TestCustom(t *testing.T) {
	const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- "
	enabled := header + "plugins: {multiPoint: {enabled: [{name: mine, weight: 3}]}}\n  pluginConfig:\n"
	args := func(name, fields string) string {
		return "  - {name: " + name + ", args: {apiVersion: example.com/v1, kind: Brought" + fields + "}}\n"
	}
	const needs = "if it is a module, give it Brought: add to pluginConfig of the same profile " +
		`{name: "mine", args: {apiVersion: example.com/v1, kind: Brought, from: FILE}}`
	for _, test := range []struct{ name, text, want string }{
		{"enabled", enabled + args("mine", ""), ""},
		{"broken", enabled + args("mine", ", a: broken"), "f:6: profiles[0].pluginConfig[0].args: it is broken"},
		{"another kind of the group", enabled + strings.Replace(args("mine", ", a: broken"), "Brought", "Brougth", 1), "it is broken"},
		{"another group", enabled + strings.Replace(strings.Replace(args("mine", ""), "Brought", "Other", 1), "example.com", "other.example", 1), `unknown plugin "mine"`},
		{"no entry", enabled[:strings.LastIndex(enabled, "  pluginConfig")], "f:4: profiles[0].plugins.multiPoint.enabled[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"no args", enabled + "  - {name: mine}\n", "f:6: profiles[0].pluginConfig[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"args without a kind", enabled + "  - {name: mine, args: {from: here}}\n", "f:4: profiles[0].plugins.multiPoint.enabled[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"args in another profile", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: a\n  pluginConfig:\n" + args("mine", "") +
			"- schedulerName: b\n  plugins: {filter: {enabled: [{name: mine}]}}\n", "f:8: profiles[1].plugins.filter.enabled[0].name: unknown plugin \"mine\"; did you mean \"Bind\"? I" + needs[1:]},
		{"a name like no other", header + "plugins: {filter: {enabled: [{name: pools-of-mine}]}}\n", "(docs/library.md); " + strings.Replace(needs, "mine", "pools-of-mine", 1)},
		{"name of a built plugin", header + "pluginConfig:\n" + args("Fit", ""), `"Fit" is the name of a plugin of kube-scheduler`},
		{"twice", enabled + args("mine", "") + args("mine", ""), "has args in pluginConfig[0] already"},
	} {
		s, warnings, err := config.Parse([]byte(test.text), "f", brought())
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
		if p.Args["mine"].Typed != "typed" {
			t.Errorf("%s: args are %v", test.name, p.Args["mine"])
		}
	}
	_, warnings, err := config.Parse([]byte(header+"pluginConfig:\n"+args("mine", "")), "f", brought())
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "enabled at no point") {
		t.Errorf("not enabled: %v, warnings %v", err, warnings)
	}
}
