package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
)

// TestLeftToOthers: the flag adds to what each profile of the file leaves to others, and a warning
// names it.
func TestLeftToOthers(t *testing.T) {
	const file = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: a
  pluginConfig:
  - {name: FeatureEnforcement, args: {allowUnenforced: [resource-claims]}}
- schedulerName: b
`
	s, _, err := config.Parse([]byte(file), "s.yaml", assembly.Catalog())
	if err != nil {
		t.Fatal(err)
	}
	if w := leftToOthers(s); len(w) != 1 || !strings.HasPrefix(w[0].Detail, `profile "a" leaves to others (allowUnenforced): resource-claims; without a plugin`) {
		t.Errorf("of the file: %v", w)
	}
	if err := allowUnenforced(s, []string{"volume-claims", "resource-claims"}); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"resource-claims", "volume-claims"}, {"volume-claims", "resource-claims"}} {
		if got := s.Profiles[i].AllowUnenforced; !slices.Equal(got, want) {
			t.Errorf("profile %d: got %q, want %q", i, got, want)
		}
	}
	if w := leftToOthers(s); len(w) != 2 {
		t.Errorf("with the flag: %v", w)
	}
	if err := allowUnenforced(s, []string{"volumes"}); err == nil || !strings.HasPrefix(err.Error(), `--allow-unenforced: "volumes" is not a feature; features are requests, `) {
		t.Errorf("an unknown feature: %v", err)
	}
}
