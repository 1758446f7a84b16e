package follow

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/state"
)

// drawVersion is one that somebody wrote into a status: any image, digest and configuration.
func drawVersion(t *rapid.T) v1alpha1.PluginVersion {
	v := v1alpha1.PluginVersion{
		Module: v1alpha1.ModuleSource{
			Image:  v1alpha1.Image(rapid.SampledFrom([]string{"registry.test/guest:1", "registry.test/guest:2", "other.test/guest:2", "oci:/etc", ""}).Draw(t, "image")),
			URL:    rapid.SampledFrom([]string{"", "", "https://other.test/guest.wasm"}).Draw(t, "url"),
			Digest: v1alpha1.Digest(rapid.SampledFrom([]string{"", digestOf("1"), "sha256:zz"}).Draw(t, "module digest")),
		},
		Digest: v1alpha1.Digest(rapid.SampledFrom([]string{"", digestOf("1"), digestOf("2"), "no"}).Draw(t, "digest")),
	}
	if text := rapid.SampledFrom([]string{"", "{}", "[", `{"a":1}`}).Draw(t, "config"); text != "" {
		v.Config = &v1alpha1.Config{RawExtension: runtime.RawExtension{Raw: []byte(text)}}
	}
	return v
}

// drawRollout is a status.rollout that no leader would have written.
func drawRollout(t *rapid.T) *v1alpha1.RolloutStatus {
	numbers := rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, 2, 50, 100, 101, math.MaxInt32})
	times := rapid.Custom(func(t *rapid.T) metav1.Time {
		return metav1.NewTime(rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}).Draw(t, "at"))
	})
	s := &v1alpha1.RolloutStatus{}
	if rapid.Bool().Draw(t, "stable") {
		v := drawVersion(t)
		s.Stable = &v
	}
	if rapid.Bool().Draw(t, "canary") {
		s.Canary = &v1alpha1.CanaryStatus{PluginVersion: drawVersion(t), Step: numbers.Draw(t, "step"), Percent: numbers.Draw(t, "percent"), Since: times.Draw(t, "since")}
	}
	if rapid.Bool().Draw(t, "failed") {
		s.Failed = &v1alpha1.FailedVersion{PluginVersion: drawVersion(t), Generation: int64(numbers.Draw(t, "generation"))}
	}
	if rapid.Bool().Draw(t, "old") {
		s.Old = &v1alpha1.OldVersion{PluginVersion: drawVersion(t), Until: times.Draw(t, "until")}
	}
	return s
}

// TestEditedRollouts: whatever somebody writes into status.rollout, nothing runs that the grant does not admit,
// not more plugins do than it admits, and at most one version decides for a pod.
func TestEditedRollouts(t *testing.T) {
	ran := 0
	seeded.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		w.grant(2)
		for i := range 3 {
			w.apply("a", fmt.Sprint("p", i), fmt.Sprint(rapid.IntRange(1, 2).Draw(r, "version")))
			p := w.mu.objects.TenantPlugins[i]
			p.Spec.Mode = rapid.SampledFrom([]v1alpha1.Mode{v1alpha1.ModeCanary, v1alpha1.ModeCanary, v1alpha1.ModeEnforce, v1alpha1.ModeShadow, v1alpha1.ModeDisabled}).Draw(r, "mode")
			if rapid.Bool().Draw(r, "bounds") {
				p.Spec.Rollout = &v1alpha1.Rollout{Bounds: &v1alpha1.RolloutBounds{Changed: "5%"}, Steps: []v1alpha1.RolloutStep{{Percent: 10, Pause: "0s", MinAttempts: 1}}}
			}
			p.Status.Rollout = drawRollout(r)
		}
		var pods []*state.Pod
		for i := range 20 {
			pods = append(pods, state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: types.UID(fmt.Sprint(i))}}))
		}
		for range 3 {
			w.sync()
			for _, x := range w.last() {
				if x.Module == nil {
					continue
				}
				ran++
				if ref := &x.Module.Reference; !strings.HasPrefix(ref.Image, "registry.test/") || ref.URL != "" || ref.Path != "" {
					r.Fatalf("%s runs %s", x.Name, ref.Source())
				}
			}
			for _, pod := range pods {
				deciding := map[string]string{}
				for _, x := range w.last() {
					decides := x.Holds || x.Module != nil && x.Module.Reference.Use.Mode == ""
					if object, _, _ := strings.Cut(x.Name, "@"); decides && x.Share.Has(pod) {
						if deciding[object] != "" {
							r.Fatalf("%s and %s decide for a pod", deciding[object], x.Name)
						}
						deciding[object] = x.Name
					}
				}
			}
			if got := w.running("a"); len(got) > 2 {
				r.Fatalf("%v run, and 2 are granted", got)
			}
			w.report()
			w.attempts(1, "a/p0@canary", 0)
			w.clock.Advance(time.Minute)
		}
	})
	if ran == 0 {
		t.Error("nothing ran")
	}
}
