package tenancy_test

import (
	"maps"
	"testing"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// TestParseStopped: items are names with what happens to pods, and mistakes say what to write.
func TestParseStopped(t *testing.T) {
	got, err := tenancy.ParseStopped([]string{"all=Release", "zone-cost", "team-a/pool=Hold"})
	want := tenancy.Stopped{tenancy.All: v1alpha1.Release, "zone-cost": "", "team-a/pool": v1alpha1.Hold}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for item, want := range map[string]string{
		"all=release": `"all=release": "release" is neither Hold nor Release`,
		"all=":        `"all=": "" is neither Hold nor Release`,
		"":            `"" names no plugin: write the name of a SchedulerPlugin, NAMESPACE/NAME of a TenantPlugin, or all`,
		"a/b/c":       `"a/b/c" names no plugin: write the name of a SchedulerPlugin, NAMESPACE/NAME of a TenantPlugin, or all`,
		"twice=Hold":  `twice is named twice`,
	} {
		if _, err := tenancy.ParseStopped([]string{"twice", item}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", item, err)
		}
	}
}
