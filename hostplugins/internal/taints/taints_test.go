package taints_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/hostplugins/internal/taints"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestAgainstHelpers compares both implementations with component-helpers.
func TestAgainstHelpers(t *testing.T) {
	logger := klog.Background()
	seeded.Check(t, func(rt *rapid.T) {
		pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
		effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute", "Unknown"}
		compare := rapid.Bool().Draw(rt, "compare")
		dict := wire.NewDict()
		var set []v1.Taint
		var interned []wire.Taint
		for range rapid.IntRange(0, 4).Draw(rt, "taints") {
			taint := v1.Taint{Key: pick("key", "a", "b", ""), Value: pick("value", "", "x", "5", "05", "+5", "-5", "6"),
				Effect: v1.TaintEffect(pick("effect", effects...))}
			set = append(set, taint)
			interned = append(interned, wire.Taint{Key: dict.Intern(taint.Key), Value: dict.Intern(taint.Value), Effect: state.TaintEffect(taint.Effect)})
		}
		var tolerations []v1.Toleration
		for range rapid.IntRange(0, 4).Draw(rt, "tolerations") {
			tolerations = append(tolerations, v1.Toleration{
				Key: pick("toleration", "", "a", "b", "c"), Operator: v1.TolerationOperator(pick("operator", "", "Equal", "Exists", "Lt", "Gt", "Odd")),
				Value:  pick("toleration value", "", "x", "5", "9", "-9", "05", "9223372036854775808"),
				Effect: v1.TaintEffect(pick("toleration effect", append(effects, "")...)),
			})
		}
		resolved := taints.Resolve(nil, tolerations, dict, compare)
		keepsAway := func(t *v1.Taint) bool {
			return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
		}
		_, want := corev1helpers.FindMatchingUntoleratedTaint(logger, set, tolerations, keepsAway, compare)
		if got := taints.Repels(set, tolerations, compare); got != want {
			rt.Fatalf("objects: got %v, want %v", got, want)
		}
		if got := taints.Untolerated(interned, resolved, wire.NoSchedule, wire.NoExecute) > 0; got != want {
			rt.Fatalf("ids: got %v, want %v", got, want)
		}
		var soft int64
		for i := range set {
			tolerated := corev1helpers.TolerationsTolerateTaint(logger, tolerations, &set[i], compare)
			if got := taints.Tolerated(&set[i], tolerations, compare); got != tolerated {
				rt.Fatalf("%v: got %v, want %v", set[i], got, tolerated)
			}
			if set[i].Effect == v1.TaintEffectPreferNoSchedule && !tolerated {
				soft++
			}
		}
		if got := taints.Untolerated(interned, resolved, wire.PreferNoSchedule); got != soft {
			rt.Fatalf("soft taints: got %d, want %d", got, soft)
		}
	})
}
