package volumebinding

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// api is the API server that PreBind reads.
type api struct {
	*storage.Store
	node *v1.Node
	pod  bool
}

func (a *api) NodeObject(string) *v1.Node   { return a.node }
func (a *api) HasPod(string, string) bool   { return a.pod }
func (a *api) volume() *v1.PersistentVolume { return a.Volume("v").DeepCopy() }
func (a *api) claim(name string) *v1.PersistentVolumeClaim {
	return a.Claim("ns", name).DeepCopy()
}

func (a *api) UpdateVolume(_ context.Context, pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	a.Set(pv)
	return pv, nil
}

func (a *api) UpdateClaim(_ context.Context, c *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	a.Set(c)
	return c, nil
}

// bound sets a claim's volume, as the controller does.
func (a *api) bound(name, volume, version string) {
	c := a.claim(name)
	c.Spec.VolumeName, c.ResourceVersion = volume, version
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	a.Set(c)
}

func pinned(pv *v1.PersistentVolume, zone string) *v1.PersistentVolume {
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
	return pv
}

// TestDone: what done returns for the objects in the API after PreBind has written version 5 of
// volume v, for claim given, and of claim made.
func TestDone(t *testing.T) {
	const waits, done = "waits", "done"
	for _, test := range []struct {
		name, want string
		change     func(a *api)
	}{
		{"all bound", done, func(a *api) { a.bound("given", "v", "6"); a.bound("made", "new", "6") }},
		{"nothing bound", waits, func(*api) {}},
		{"claim of the volume not bound", waits, func(a *api) { a.bound("made", "new", "6") }},
		{"claim not provisioned for", waits, func(a *api) { a.bound("given", "v", "6") }},
		{"node gone", `failed to get node "n"`, func(a *api) { a.node = nil }},
		{"pod gone", `pod does not exist any more: pod "p" not found`, func(a *api) { a.pod = false }},
		{"volume gone", `failed to check binding: persistentvolume "v" not found`, func(a *api) { a.Delete(a.volume()) }},
		{"claim of the volume gone", `failed to check binding: persistentvolumeclaim "given" not found`, func(a *api) { a.Delete(a.claim("given")) }},
		{"claim gone", `failed to check provisioning pvc: persistentvolumeclaim "made" not found`, func(a *api) {
			a.bound("given", "v", "6")
			a.Delete(a.claim("made"))
		}},
		{"volume not shown yet", waits, func(a *api) {
			pv := a.volume()
			pv.ResourceVersion, pv.Spec.ClaimRef = "4", nil
			a.Set(pv)
			a.bound("given", "v", "6")
		}},
		{"volume taken back", `ClaimRef got reset for pv "v"`, func(a *api) {
			pv := a.volume()
			pv.ResourceVersion, pv.Spec.ClaimRef = "6", nil
			a.Set(pv)
		}},
		{"volume without a claim UID", `ClaimRef got reset for pv "v"`, func(a *api) {
			pv := a.volume()
			pv.ResourceVersion, pv.Spec.ClaimRef.UID = "6", ""
			a.Set(pv)
		}},
		{"volume out of reach", `pv "v" node affinity doesn't match node "n"`, func(a *api) { a.Set(pinned(a.volume(), "elsewhere")) }},
		{"volume out of the driver's reach", `failed to translate pv to csi`, func(a *api) {
			pv := a.volume()
			pv.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/no-volume"}
			a.Set(pv)
			a.Set(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{
				Name: "n", Annotations: map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"},
			}})
		}},
		{"odd version", "compare resource versions", func(a *api) {
			pv := a.volume()
			pv.ResourceVersion = "x"
			a.Set(pv)
		}},
		{"claim not shown yet", waits, func(a *api) {
			a.bound("given", "v", "6")
			c := a.claim("made")
			c.ResourceVersion, c.Annotations = "4", nil
			a.Set(c)
		}},
		{"annotations gone", `selectedNode annotation reset for PVC "made"`, func(a *api) {
			a.bound("given", "v", "6")
			c := a.claim("made")
			c.Annotations = nil
			a.Set(c)
		}},
		{"provisioner wants another node", `provisioning failed for PVC "made"`, func(a *api) {
			a.bound("given", "v", "6")
			c := a.claim("made")
			c.Annotations = map[string]string{"a": "b"}
			a.Set(c)
		}},
		{"other node selected", `provisioning failed for PVC "made"`, func(a *api) {
			a.bound("given", "v", "6")
			c := a.claim("made")
			c.Annotations["volume.kubernetes.io/selected-node"] = "m"
			a.Set(c)
		}},
		{"odd version of the claim", "compare resource versions", func(a *api) {
			a.bound("given", "v", "6")
			a.bound("made", "new", "x")
		}},
		{"provisioned volume not shown yet", waits, func(a *api) {
			a.bound("given", "v", "6")
			a.bound("made", "newer", "6")
		}},
		{"provisioned volume out of reach", `pv "new" node affinity doesn't match node "n"`, func(a *api) {
			a.bound("given", "v", "6")
			a.bound("made", "new", "6")
			a.Set(pinned(a.Volume("new").DeepCopy(), "elsewhere"))
		}},
	} {
		a := &api{Store: storage.New(), pod: true, node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "here"}}}}
		meta := func(namespace, name, version string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}
		}
		given := &v1.PersistentVolumeClaim{ObjectMeta: meta("ns", "given", "1")}
		made := &v1.PersistentVolumeClaim{ObjectMeta: meta("ns", "made", "5")}
		made.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n"}
		pv := pinned(&v1.PersistentVolume{ObjectMeta: meta("", "v", "5")}, "here")
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "ns", Name: "given", UID: "u"}
		for _, o := range []metav1.Object{given, made, pv, pinned(&v1.PersistentVolume{ObjectMeta: meta("", "new", "1")}, "here")} {
			a.Set(o)
		}
		b, err := New(nil, Deps{Storage: a.Objects(), Ledger: NewLedger(a.Objects()), Exists: a})
		if err != nil {
			t.Fatal(err)
		}
		test.change(a)
		pl := &plugin.Placement{Pod: state.NewPod(&v1.Pod{ObjectMeta: meta("ns", "p", ""), Spec: v1.PodSpec{NodeName: "n"}})}
		is, err := b.done(pl, &reservation{bindings: []binding{{pv: pv, claim: given, written: pv}}, provisions: []provisioning{{claim: made, written: made}}})
		got := waits
		switch {
		case err != nil:
			got = err.Error()
		case is:
			got = done
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// waiter calls once, and records the timeout.
type waiter struct{ timeout time.Duration }

func (w *waiter) Await(_ context.Context, timeout time.Duration, done func() (bool, error)) error {
	w.timeout = timeout
	if ok, err := done(); ok || err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// TestTimeout: PreBind waits as long as the args say, and then fails.
func TestTimeout(t *testing.T) {
	for _, test := range []struct {
		args *configv1.VolumeBindingArgs
		want time.Duration
	}{
		{nil, 10 * time.Minute},
		{&configv1.VolumeBindingArgs{}, 10 * time.Minute},
		{&configv1.VolumeBindingArgs{BindTimeoutSeconds: new(int64(7))}, 7 * time.Second},
		{&configv1.VolumeBindingArgs{BindTimeoutSeconds: new(int64(0))}, 0},
	} {
		a, w := &api{Store: storage.New(), pod: true, node: &v1.Node{}}, &waiter{}
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "1"}}
		claim.Annotations = map[string]string{"volume.kubernetes.io/selected-node": ""}
		b, err := New(test.args, Deps{Storage: a.Objects(), Ledger: NewLedger(a.Objects()), Writer: a, Exists: a, Waiter: w})
		if err != nil {
			t.Fatal(err)
		}
		pl := &plugin.Placement{Context: context.Background(), Pod: state.NewPod(&v1.Pod{}), State: &state.CycleState{}}
		if status := b.PreBindPreFlight(pl); !status.Is(abi.Skip) {
			t.Errorf("a pod without a reservation: %v", status)
		}
		if _, status := b.PreBind(pl); !status.Success() || w.timeout != 0 {
			t.Errorf("a pod without a reservation waits %v: %v", w.timeout, status)
		}
		pl.State.Write(Name, reserveKey, &reservation{provisions: []provisioning{{claim: claim}}})
		_, status := b.PreBind(pl)
		if w.timeout != test.want || !status.Is(abi.Error) || status.Message() != "binding volumes: context deadline exceeded" {
			t.Errorf("%+v: waits %v and then %v, want %v", test.args, w.timeout, status, test.want)
		}
	}
}
