package state_test

import (
	"math/bits"
	"testing"

	"github.com/berth-scheduler/berth/runtime/state"
)

func TestEventMatches(t *testing.T) {
	event := func(r state.EventResource, a state.Action) state.ClusterEvent {
		return state.ClusterEvent{Resource: r, Action: a}
	}
	cases := map[string]struct {
		registered, incoming state.ClusterEvent
		want                 bool
	}{
		"same":                         {event(state.NodeResource, state.Add), event(state.NodeResource, state.Add), true},
		"one of several actions":       {event(state.NodeResource, state.Add|state.UpdateNodeTaint), event(state.NodeResource, state.UpdateNodeTaint), true},
		"another action":               {event(state.NodeResource, state.Add), event(state.NodeResource, state.Delete), false},
		"another resource":             {event(state.NodeResource, state.Add), event(state.CSINodeResource, state.Add), false},
		"any resource":                 {event(state.WildCardResource, state.AllActions), event(state.CSINodeResource, state.Delete), true},
		"any resource, another action": {event(state.WildCardResource, state.Add), event(state.CSINodeResource, state.Delete), false},
		"pods cover assigned pods":     {event(state.PodResource, state.Delete), state.EventAssignedPodDelete(), true},
		"pods cover unscheduled pods":  {event(state.PodResource, state.Update), event(state.UnscheduledPodResource, state.UpdatePodLabel), true},
		"pods cover the pod itself":    {event(state.PodResource, state.Update), event(state.TargetPodResource, state.UpdatePodScaleUp), true},
		"assigned pods are not all":    {event(state.AssignedPodResource, state.Add), event(state.UnscheduledPodResource, state.Add), false},
		"update covers the rest":       {event(state.PodResource, state.Update), event(state.AssignedPodResource, state.UpdateOther), true},
	}
	for name, c := range cases {
		if got := c.registered.Matches(c.incoming); got != c.want {
			t.Errorf("%s: Matches = %v, want %v", name, got, c.want)
		}
	}
}

func TestWildCards(t *testing.T) {
	for _, e := range []state.ClusterEvent{state.EventForceActivate(), state.EventUnschedulableTimeout()} {
		if !e.WildCard() || e.Label == "" {
			t.Errorf("%+v moves no parked pod, or has no name", e)
		}
	}
	for _, e := range []state.ClusterEvent{state.EventAssignedPodAdd(), state.EventAssignedPodDelete(), {Resource: state.WildCardResource, Action: state.Add}} {
		if e.WildCard() {
			t.Errorf("%+v moves every parked pod", e)
		}
	}
	if state.Update&(state.Add|state.Delete) != 0 || state.Update|state.Add|state.Delete != state.AllActions {
		t.Errorf("Update is %b of %b", state.Update, state.AllActions)
	}
}

func TestFeatureNames(t *testing.T) {
	names := state.FeatureNames()
	all := state.Feature(0)
	for i, name := range names {
		f, ok := state.ParseFeature(name)
		if !ok || bits.OnesCount32(uint32(f)) != 1 || f.String() != name {
			t.Errorf("feature %d, %q, is %d, called %q", i, name, f, f)
		}
		all |= f
	}
	if got := all.Names(); len(got) != len(names) {
		t.Errorf("names %q, want %q", got, names)
	}
	if _, ok := state.ParseFeature("magic"); ok {
		t.Error("magic is a feature")
	}
}

func TestClearRejectors(t *testing.T) {
	q := state.QueuedPod{Rejectors: []string{"a"}, Pending: []string{"b"}, GatedBy: "c", GateReason: "d", Attempts: 3}
	q.ClearRejectors()
	if q.Rejectors != nil || q.Pending != nil || q.GatedBy != "" || q.GateReason != "" || q.Attempts != 3 {
		t.Errorf("left is %+v", q)
	}
}
