package config_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/config"
)

// args are those of a plugin, as commands write them.
type args struct {
	Kind   string            `yaml:"kind"`
	Module map[string]string `yaml:"module"`
}

func rack(image string) args {
	return args{Kind: "WasmPluginArgs", Module: map[string]string{"image": image}}
}

const edited = `# Ours.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler # as ever
  plugins:
    multiPoint:
      enabled:
      # Pools first.
      - name: pools
      disabled: [{name: ImageLocality}]
  pluginConfig:
  - name: pools
    args: {kind: WasmPluginArgs, module: {path: pools.wasm}}
- schedulerName: batch
parallelism: 8 # cores
`

// edit makes a change of a file and wants what comes out of it.
func edit(t *testing.T, before, want string, change func(*config.Edit) error) {
	t.Helper()
	e, err := config.NewEdit([]byte(before))
	if err == nil {
		err = change(e)
	}
	if err != nil {
		t.Error(err)
		return
	}
	if got, err := e.Text(); err != nil || string(got) != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, want)
	}
}

// TestEdit: a plugin is added, changed and removed, and all else stays as it was
// written.
func TestEdit(t *testing.T) {
	with := strings.Replace(edited, "      disabled", "      - name: rack\n      disabled", 1)
	with = strings.Replace(with, "- schedulerName: batch\n", `  - name: rack
    args:
      kind: WasmPluginArgs
      module:
        image: ghcr.io/x/rack:1.0.0
- schedulerName: batch
  plugins:
    multiPoint:
      enabled:
      - name: rack
  pluginConfig:
  - name: rack
    args:
      kind: WasmPluginArgs
      module:
        image: ghcr.io/x/rack:1.0.0
`, 1)
	edit(t, edited, with, func(e *config.Edit) error { return e.Add("", "rack", rack("ghcr.io/x/rack:1.0.0")) })
	edit(t, with, edited, func(e *config.Edit) error { return e.Remove("rack") })
	newer := strings.ReplaceAll(with, "rack:1.0.0", "rack:1.1.0")
	newer = strings.ReplaceAll(newer, "        image: ghcr.io/x/rack:1.1.0\n", "        image: ghcr.io/x/rack:1.1.0\n      grants:\n        bind: true\n")
	edit(t, with, newer, func(e *config.Edit) error {
		return e.Each(func(name string, args func(...string) string) map[string]any {
			if args("module", "image") != "ghcr.io/x/rack:1.0.0" || args("kind") != "WasmPluginArgs" || args("none", "none") != "" || name != "rack" {
				return nil
			}
			return map[string]any{"module": map[string]any{"image": "ghcr.io/x/rack:1.1.0"}, "grants": map[string]bool{"bind": true}}
		})
	})
	one := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: default-scheduler\n" +
		"  plugins:\n    multiPoint:\n      enabled:\n      - name: rack\n  pluginConfig:\n  - name: rack\n    args:\n      kind: WasmPluginArgs\n      module:\n        image: i\n"
	edit(t, "", one, func(e *config.Edit) error { return e.Add("", "rack", rack("i")) })
	edit(t, `{"kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "a", "plugins": null}]}`,
		`{"kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "a", "plugins": {multiPoint: {enabled: [{name: rack}]}}, pluginConfig: [{name: rack, args: {kind: WasmPluginArgs, module: {image: i}}}]}]}`+"\n",
		func(e *config.Edit) error { return e.Add("a", "rack", rack("i")) })
	for want, c := range map[string]struct {
		before string
		change func(*config.Edit) error
	}{
		"it has a plugin pools already":         {edited, func(e *config.Edit) error { return e.Add("", "pools", rack("i")) }},
		`it has no profile "none"`:              {edited, func(e *config.Edit) error { return e.Add("none", "rack", rack("i")) }},
		`it has no plugin "rack"`:               {edited, func(e *config.Edit) error { return e.Remove("rack") }},
		`it has no plugin "pools"`:              {"kind: x", func(e *config.Edit) error { return e.Remove("pools") }},
		"line 2: profiles is an alias or anot":  {"a: &a [{schedulerName: x}]\nprofiles: *a", func(e *config.Edit) error { return e.Add("", "rack", rack("i")) }},
		"line 1: plugins is an alias or anothe": {"profiles: [{plugins: text}]", func(e *config.Edit) error { return e.Add("", "rack", rack("i")) }},
		"where a mapping belongs: edit it by h": {"profiles: [text]", func(e *config.Edit) error { return e.Add("", "rack", rack("i")) }},
		"it is no mapping of fields":            {"[]", nil},
		"yaml: ":                                {"a: [", nil},
	} {
		e, err := config.NewEdit([]byte(c.before))
		if err == nil {
			err = c.change(e)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSetFields: fields of a file are set, in lists and mappings that are there.
func TestSetFields(t *testing.T) {
	for before, want := range map[string]string{
		"":                                  "grants:\n  labels:\n  - a/\nweight: 2\n",
		"# mine\nname: x # so\nweight: 1\n": "# mine\nname: x # so\nweight: 2\ngrants:\n  labels:\n  - a/\n",
		"grants: {bind: true}":              "grants: {bind: true, labels: [a/]}\nweight: 2\n",
	} {
		got, err := config.SetFields([]byte(before), map[string]any{"weight": 2, "grants": map[string]any{"labels": []string{"a/"}}})
		if err != nil || string(got) != want {
			t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, want)
		}
	}
	if _, err := config.SetFields([]byte("[]"), nil); err == nil {
		t.Error("a list has fields")
	}
}
