package assembly

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestChangesAreLogged: a reload logs what happened to each plugin, with the versions and
// digests of modules, and nothing about plugins that stay.
func TestChangesAreLogged(t *testing.T) {
	modules := newModules(t)
	one, two := guest{filter: no}.write(t), guest{}.write(t)
	with := func(path string, s *config.Scheduler) *config.Scheduler {
		return enabled(t, modules, clone(s), module.Reference{Path: path, Name: "a"})
	}
	digest := func(path string) string {
		m, err := modules.Load(module.Reference{Path: path, Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		return "version=" + m.Loaded.Manifest.Version + " digest=" + m.Loaded.Digest
	}
	old := strings.NewReplacer("version=", "oldVersion=", "digest=", "oldDigest=")
	weighted := clone(Default())
	weighted.Profiles[0].Args["InterPodAffinity"] = config.Args{Typed: &configv1.InterPodAffinityArgs{HardPodAffinityWeight: new(int32)}}

	r := start(t, Config{Scheduler: Default(), Modules: modules})
	var log bytes.Buffer
	r.scheduler.deps.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
	const of = " profile=default-scheduler plugin="
	for _, step := range []struct {
		to   *config.Scheduler
		want string
	}{
		{with(one, Default()), `msg="plugin added"` + of + "a " + digest(one)},
		{with(two, Default()), `msg="plugin replaced"` + of + "a " + digest(two) + " " + old.Replace(digest(one))},
		{with(two, Default()), ""},
		{with(two, weighted), `msg="plugin reconfigured"` + of + "InterPodAffinity"},
		{weighted, `msg="plugin removed"` + of + "a " + digest(two)},
	} {
		log.Reset()
		if _, err := r.scheduler.Reload(t.Context(), step.to); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(log.String()); got != step.want {
			t.Errorf("logged %s\nwant %s", got, step.want)
		}
	}
}
