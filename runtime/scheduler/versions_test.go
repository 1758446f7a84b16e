package scheduler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestDebtOfVersions: a namespace owes whichever version of its plugin applies to the next pod, also when the one for whose pod
// others made room is gone.
func TestDebtOfVersions(t *testing.T) {
	shares := map[string]state.Share{
		"Stable": {Key: "plugin", From: 0, To: state.Buckets / 2}, "Canary": {Key: "plugin", From: state.Buckets / 2, To: state.Buckets},
	}
	for first, next := range map[string]string{"Stable": "Canary", "Canary": "Stable"} {
		w := newWorld(t, &scenario.Log{})
		for _, version := range []string{"Stable", "Canary"} {
			w.declare(version, scenario.MustParse("filter=ok overlay=ok prebind=unschedulable namespaces=team events=Pod/Delete,Pod/Add"))
			for _, entries := range w.profiles[0].Points {
				for i := range entries {
					if entries[i].Plugin.Info().Name == version {
						entries[i].Share = shares[version]
					}
				}
			}
		}
		if err := errors.Join(w.native("NodeResourcesFit"), w.native("DefaultPreemption")); err != nil {
			t.Fatal(err)
		}
		w.get().SetNode(local("a"))
		w.get().SetNode(local("b"))
		of := func(version string) *state.Pod {
			share := shares[version]
			for i := range 100 {
				if p := pod(t, fmt.Sprint("p", i), "cpu=500 priority=5 namespace=team"); share.Has(p) {
					return p
				}
			}
			t.Fatalf("no pod for %s", version)
			return nil
		}
		// happens returns what happens next, after others' pods were made again.
		happens := func() string {
			w.restock(t)
			w.clock.Advance(10 * time.Second)
			w.run()
			return w.told()
		}
		const makes, owes = "preempted: v-", "which make no more room until"
		p, q := of(first), of(next)
		w.set(p)
		if got := happens(); !strings.Contains(got, makes) || !strings.Contains(got, first+".prebind") || strings.Contains(got, next+".") {
			t.Errorf("%s: %s", first, got)
		}
		w.set(q)
		if got := happens(); strings.Contains(got, makes) || !strings.Contains(got, owes) || !strings.Contains(got, next+".filter") {
			t.Errorf("%s after %s: %s", next, first, got)
		}
		if err := w.swap(first, scenario.Args{}); err != nil {
			t.Fatal(err)
		}
		w.gone(p.UID)
		if got := happens(); strings.Contains(got, makes) {
			t.Errorf("%s without %s: %s", next, first, got)
		}
		w.get().ForgiveDebt("team", "")
		if got := happens(); !strings.Contains(got, makes) {
			t.Errorf("%s after the debt: %s", next, got)
		}
	}
}

// TestDebtOfExtender: what an extender chooses is held to the rules of preemption, too.
func TestDebtOfExtender(t *testing.T) {
	const own, other, both = "own", "v-b", "own v-a"
	for name, test := range map[string]struct {
		guest     string
		node      string
		victims   string // that the extender chooses in the second try
		debt      bool   // others have made room
		preempted bool
		message   string
	}{
		"others may make room":      {guest: "filter=ok", node: "b", victims: other, preempted: true},
		"not on a plugin's word":    {guest: "filter=b=unschedulable;a=ok", node: "b", victims: other, message: plugin.ReasonWord},
		"not while it owes":         {guest: "filter=ok", node: "b", victims: other, debt: true, message: "which make no more room until"},
		"not beside one of its own": {guest: "filter=ok", node: "a", victims: both, debt: true, message: "which make no more room until"},
		"one of its own may":        {guest: "filter=ok", node: "a", victims: own, debt: true, preempted: true},
	} {
		asked := 0
		x, err := extender.New([]configv1.Extender{{URLPrefix: "http://extender.test", PreemptVerb: "preempt"}}, extender.Deps{
			Tape: func(_ int, _ string, result any, _ func() error) error {
				asked++
				victims := &extenderv1.MetaVictims{}
				for uid := range strings.FieldsSeq(test.victims) {
					victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: uid})
				}
				result.(*extenderv1.ExtenderPreemptionResult).NodeNameToMetaVictims = map[string]*extenderv1.MetaVictims{test.node: victims}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, &scenario.Log{})
		w.asked = x
		w.declare("Guest", scenario.MustParse(test.guest+" overlay=ok namespaces=team events=Pod/Delete,Pod/Add"))
		if err := errors.Join(w.native("NodeResourcesFit"), w.native("DefaultPreemption")); err != nil {
			t.Fatal(err)
		}
		w.profiles[0].Points[abi.Bind] = []pipeline.Entry{{Plugin: x.Binder()}}
		w.get().SetNode(local("a"))
		w.get().SetNode(local("b"))
		w.set(pod(t, own, "cpu=700 priority=1 namespace=team on=a"), pod(t, "v-a", "cpu=100 priority=1 namespace=others on=a"))
		w.set(pod(t, other, "cpu=800 priority=2 namespace=others on=b"))
		if test.debt {
			w.set(pod(t, "early", "cpu=2000 priority=5 namespace=team nominated=b")) // inherited
		}
		w.run()
		w.told()
		w.set(pod(t, "p", "cpu=500 priority=5 namespace=team"))
		w.run()
		got := w.told()
		for _, victim := range []string{own, "v-a", other} {
			gone := w.pods[types.UID(victim)] == nil
			if chosen := strings.Contains(test.victims, victim); gone != (chosen && test.preempted) {
				t.Errorf("%s: %s has left: %t\n%s", name, victim, gone, got)
			}
		}
		if asked == 0 || !strings.Contains(got, test.message) {
			t.Errorf("%s: the extender was asked %d times\n%s", name, asked, got)
		}
	}
}
