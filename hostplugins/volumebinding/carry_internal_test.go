package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestCarried: a plugin that is restored from what another one carries promises the same, and takes the same back.
func TestCarried(t *testing.T) {
	store := storage.New()
	store.Set(version("v", "5"))
	store.Set(version("old", "2"))
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "made", ResourceVersion: "7"}}
	store.Set(claim)
	made := func() *VolumeBinding {
		b, err := New(nil, Deps{Storage: store.Objects(), Ledger: NewLedger(store.Objects())})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := made(), made()
	l := first.deps.Ledger
	pv := version("v", "5")
	pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "ns", Name: "given", UID: "u"}
	metav1.SetMetaDataAnnotation(&pv.ObjectMeta, volume.AnnBoundByController, "yes")
	promised := func() *v1.PersistentVolumeClaim {
		c := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnSelectedNode, "n")
		if err := l.promiseClaim(c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := l.promiseVolume(pv); err != nil {
		t.Fatal(err)
	}
	stale := version("old", "1")
	l.promisedVolumes["old"] = append(l.promisedVolumes["old"], stale) // its expiry is not seen yet
	pods := map[*reservation]*reservation{
		{bindings: []binding{{pv: pv, promised: true}, {pv: stale, promised: true}}, provisions: []provisioning{{claim: promised()}}}: nil,
		{provisions: []provisioning{{claim: promised()}}}: nil,
	}
	promised() // of a pod whose binding failed after it was written
	for r := range pods {
		from := &plugin.Placement{State: &state.CycleState{}}
		from.State.Write(Name, reserveKey, r)
		to := &plugin.Placement{State: &state.CycleState{}}
		if err := second.ResumeFor(to, first.CarriedFor(from)); err != nil {
			t.Fatal(err)
		}
		if got, want := string(second.CarriedFor(to)), string(first.CarriedFor(from)); got != want || first.ChangedFor(from) != nil {
			t.Errorf("got %s, want %s", got, want)
		}
		pods[r] = to.State.Read(Name, reserveKey).(*reservation)
	}
	for range 2 { // once for each profile
		if err := second.ResumeFor(nil, first.CarriedFor(nil)); err != nil {
			t.Fatal(err)
		}
	}
	same := func(when string) {
		t.Helper()
		got, want := second.deps.Ledger, l
		if a, b := string(second.CarriedFor(nil)), string(first.CarriedFor(nil)); a != b {
			t.Errorf("%s: got %s, want %s", when, a, b)
		}
		if !equality.Semantic.DeepEqual(got.volume("v"), want.volume("v")) || !equality.Semantic.DeepEqual(got.claim("ns", "made"), want.claim("ns", "made")) {
			t.Errorf("%s: %v and %v, want %v and %v", when, got.volume("v"), got.claim("ns", "made"), want.volume("v"), want.claim("ns", "made"))
		}
	}
	same("at first")
	for r, other := range pods {
		if len(r.bindings) > 0 { // the volume was written, the claim was not
			r.bindings[0].written = pv
			from, to := &plugin.Placement{State: &state.CycleState{}}, &plugin.Placement{State: &state.CycleState{}}
			from.State.Write(Name, reserveKey, r)
			to.State.Write(Name, reserveKey, other)
			if err := second.ResumeFor(to, first.ChangedFor(from)); err != nil {
				t.Fatal(err)
			}
		}
		first.takeBack(r)
		second.takeBack(other)
		same("after taking back")
	}
	if l.volume("v") != pv || l.claim("ns", "made").Annotations[volume.AnnSelectedNode] != "n" {
		t.Error("what was written was taken back")
	}
}
