package dynamicresources

import (
	"fmt"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/state"
)

// rule returns a rule that taints devices.
func rule(of *resourcev1.DeviceTaintSelector, effect resourcev1.DeviceTaintEffect) *resourcev1.DeviceTaintRule {
	return &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: resourcev1.DeviceTaintRuleSpec{
		DeviceSelector: of, Taint: resourcev1.DeviceTaint{Key: "broken", Effect: effect},
	}}
}

// TestTaintRules: a rule keeps pods from the devices that it selects, unless they tolerate its taint, until it is gone.
func TestTaintRules(t *testing.T) {
	f := newFleet(t, 0, false)
	for _, node := range []string{"a", "b"} {
		spec := resourcev1.ResourceSliceSpec{}
		for i := range 16 {
			spec.Devices = append(spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", i)})
		}
		f.add(node, spec)
	}
	tolerant := request(1)
	tolerant.Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists}}
	const no, evicts, none = resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone
	everything := &resourcev1.DeviceTaintSelector{}
	for _, c := range []struct {
		name     string
		rule     *resourcev1.DeviceTaintRule // nil for none
		fit, all int                         // nodes, and nodes for those that tolerate it
	}{
		{"no rule", nil, 2, 2},
		{"of a pool", rule(&resourcev1.DeviceTaintSelector{Pool: ptr.To("a")}, no), 1, 2},
		{"of all", rule(everything, evicts), 0, 2},
		{"of another driver", rule(&resourcev1.DeviceTaintSelector{Driver: ptr.To("other.example.com")}, no), 2, 2},
		{"of the driver", rule(&resourcev1.DeviceTaintSelector{Driver: ptr.To("gpu.example.com")}, no), 0, 2},
		{"without effect", rule(everything, none), 2, 2},
		{"without a selector", rule(nil, no), 2, 2},
		{"of all again", rule(everything, no), 0, 2},
		{"gone", nil, 2, 2},
	} {
		if c.rule != nil {
			f.store.Set(c.rule)
		} else {
			f.store.Delete(rule(nil, no))
		}
		if fit, all := f.place(t, asks(request(1)), at), f.place(t, asks(tolerant), at); fit != c.fit || all != c.all {
			t.Errorf("%s: %d nodes fit, and %d for a pod that tolerates the taint; want %d and %d", c.name, fit, all, c.fit, c.all)
		}
	}
}

// TestHintOfTaintRules: what a rule taints may free devices; what happened because of it does not.
func TestHintOfTaintRules(t *testing.T) {
	was := rule(&resourcev1.DeviceTaintSelector{Pool: ptr.To("a")}, resourcev1.DeviceTaintEffectNoExecute)
	told, other := was.DeepCopy(), was.DeepCopy()
	told.Status.Conditions = []metav1.Condition{{Type: "EvictionInProgress", Status: metav1.ConditionTrue}}
	other.Spec.DeviceSelector.Pool = ptr.To("b")
	for _, c := range []struct {
		name   string
		object state.Object
		hint   state.Hint
		fails  bool
	}{
		{"added", state.Object{New: was}, state.Queue, false},
		{"deleted", state.Object{Old: was}, state.Queue, false},
		{"changed", state.Object{Old: was, New: other}, state.Queue, false},
		{"status changed", state.Object{Old: was, New: told}, state.QueueSkip, false},
		{"nothing", state.Object{}, state.Queue, true},
	} {
		if hint, err := afterRuleChange(nil, c.object); hint != c.hint || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v, want %v", c.name, hint, err, c.hint)
		}
	}
}

// TestHintOfGoneClaims: a claim that had devices leaves them to any pod, and the one that was made for a pod is in its way.
func TestHintOfGoneClaims(t *testing.T) {
	pod := &state.Pod{UID: "p"}
	claim := func(allocated bool, owner types.UID) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{}
		if allocated {
			c.Status.Allocation = &resourcev1.AllocationResult{}
		}
		if owner != "" {
			c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", UID: owner, Controller: ptr.To(true)}}
		}
		return c
	}
	for _, c := range []struct {
		name   string
		object state.Object
		hint   state.Hint
		fails  bool
	}{
		{"with devices", state.Object{Old: claim(true, "")}, state.Queue, false},
		{"without", state.Object{Old: claim(false, "")}, state.QueueSkip, false},
		{"with devices, made for another pod", state.Object{Old: claim(true, "q")}, state.Queue, false},
		{"without, made for another pod", state.Object{Old: claim(false, "q")}, state.QueueSkip, false},
		{"without, made for the pod", state.Object{Old: claim(false, "p")}, state.Queue, false},
		{"nothing", state.Object{}, state.Queue, true},
	} {
		if hint, err := afterClaimGone(pod, c.object); hint != c.hint || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v, want %v", c.name, hint, err, c.hint)
		}
	}
}
