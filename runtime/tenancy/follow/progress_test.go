package follow

import (
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// TestProgress: the metrics of a rollout agree with the scheduler. Another plugin whose name sorts
// between those of its versions is not taken for one of them.
func TestProgress(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 25}, v1alpha1.RolloutStep{Percent: 75})
	w.grant(2)
	w.apply("a", "p-next", "1")
	expect := func(want string) {
		t.Helper()
		w.sync()
		if got := fmt.Sprintf("%+v", w.follower.Progress()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	of := func(role, version string, share float64, attempts int) string {
		return fmt.Sprintf("{Role:%s Digest:%s Share:%v Attempts:%d}", role, digestOf(version), share, attempts)
	}
	expect("[{Plugin:a/p Step:0 Steps:2 Failed: Versions:[" + of("stable", "1", 1, 0) + " " + of("canary", "2", 0, 0) + "]}]")
	w.report()
	expect("[{Plugin:a/p Step:1 Steps:2 Failed: Versions:[" + of("stable", "1", 0.75, 0) + " " + of("canary", "2", 0.25, 0) + "]}]")
	w.clock.Advance(writeEvery)
	if w.report(); w.mu.objects.TenantPlugins[0].Status.Digest != digestOf("1") {
		t.Errorf("the status of a/p is about another version: %+v", w.mu.objects.TenantPlugins[0].Status)
	}
	w.attempts(9, "a/p", 0)
	w.attempts(3, "a/p@canary", 0)
	expect("[{Plugin:a/p Step:1 Steps:2 Failed: Versions:[" + of("stable", "1", 0.75, 9) + " " + of("canary", "2", 0.25, 3) + "]}]")
	w.attempts(1, "a/p@canary", 1)
	w.report()
	w.report() // no step is watched any more
	expect("[{Plugin:a/p Step:0 Steps:2 Failed:faults Versions:[" + of("stable", "1", 1, 0) + "]}]")
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeEnforce })
	expect("[]")
}
