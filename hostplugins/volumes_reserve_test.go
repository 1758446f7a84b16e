package hostplugins_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// onTheWay is a pod that is being bound, from Reserve on, with what should be reserved for it.
type onTheWay struct {
	placement *plugin.Placement
	bindings
	versions map[string]string // of the objects at the time of Reserve
}

// promised returns the cluster as it would be if everything reserved were written.
func (w *volumeWorld) promised(pods []*onTheWay) *volumeWorld {
	out := *w
	for _, p := range pods {
		for _, s := range p.static {
			pv := named(out.volumes, "", s.pv.Name)
			if pv == nil || pv.ResourceVersion != p.versions[pv.Name] {
				continue // it has changed since
			}
			pv = pv.DeepCopy()
			pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: s.claim.Namespace, Name: s.claim.Name, UID: s.claim.UID}
			out.volumes = replaced(out.volumes, pv)
		}
		for _, s := range p.provision {
			claim := named(out.claims, s.claim.Namespace, s.claim.Name)
			if claim == nil || claim.ResourceVersion != p.versions[claim.Namespace+"/"+claim.Name] {
				continue
			}
			claim = claim.DeepCopy()
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "volume.kubernetes.io/selected-node", p.placement.Node.Name)
			out.claims = replaced(out.claims, claim)
		}
	}
	return &out
}

// reserve reserves the first node that fits; nil if there is none.
func (w *volumeWorld) reserve(rt *rapid.T, p plugin.Plugin, c *plugin.Cycle, verdicts said, seen *volumeWorld) *onTheWay {
	row := slices.Index(verdicts.nodes, inWords(abi.Success, nil))
	if row < 0 {
		return nil
	}
	n := w.nodes[row]
	out := &onTheWay{versions: map[string]string{}, placement: &plugin.Placement{
		Context: context.Background(), Pod: c.Pod.On(n.Name, state.Patch{}), Node: state.NewNode(n), State: c.State,
	}}
	out.bindings, _ = seen.bruteClaims(c.Pod.Object)
	if _, err := seen.bruteNode(&out.bindings, n); err != nil {
		rt.Fatal(err)
	}
	for _, s := range out.static {
		out.versions[s.pv.Name] = s.pv.ResourceVersion
	}
	for _, s := range out.provision {
		out.versions[s.claim.Namespace+"/"+s.claim.Name] = s.claim.ResourceVersion
	}
	if _, status := p.(plugin.Reserve).Reserve(out.placement); !status.Success() {
		rt.Fatalf("reserve: %v", status.Message())
	}
	skips := p.(plugin.PreBind).PreBindPreFlight(out.placement).Is(abi.Skip)
	if nothing := len(out.static)+len(out.provision) == 0; skips != nothing {
		rt.Fatalf("PreBind is skipped: %v; there is nothing to do: %v", skips, nothing)
	}
	return out
}

// end finishes the binding of a pod, successfully or not.
func (g volumeGen) end(w *volumeWorld, p plugin.Plugin, pod *onTheWay) {
	w.refuse, w.late, w.gone = "", false, false
	how := g.pick("end", "unreserved", "bound", "bound", "refused", "late", "deleted")
	if how == "unreserved" {
		p.(plugin.Reserve).Unreserve(pod.placement)
		p.(plugin.Reserve).Unreserve(pod.placement) // calling it twice has no further effect
		return
	}
	w.late, w.gone = how == "late", how == "deleted"
	if how == "refused" {
		w.refuse = g.pick("refused", "v0", "v1", "v2", "v3", "c0", "c1", "c2", "c3", "c4")
	}
	_, status := p.(plugin.PreBind).PreBind(pod.placement)
	if !status.Success() {
		p.(plugin.Reserve).Unreserve(pod.placement)
	}
}

// TestVolumesPromises: what is reserved for pods that are being bound is not available to
// others; when their binding has succeeded or failed, only what was written remains.
func TestVolumesPromises(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := volumeGen{rt}
		w := g.world(3)
		p := w.plugins(t, nil)["VolumeBinding"]
		var pods []*onTheWay
		for i := range 10 {
			pod := g.incoming(w, fmt.Sprintf("new%d", i))
			c, seen := cycleOf(w.snapshot(), pod), w.promised(pods)
			got, want := ask(p, c), seen.bruteBinding(pod)
			if got.pre != want.pre || !slices.Equal(got.nodes, want.nodes) {
				rt.Fatalf("with %d pods being bound:\n%v\nwant\n%v", len(pods), got, want)
			}
			if way := w.reserve(rt, p, c, got, seen); way != nil {
				pods = append(pods, way)
			}
			for len(pods) > 0 && g.chance("one ends", 50) {
				at := g.number("which ends", len(pods)-1)
				ends := pods[at]
				pods = slices.Delete(pods, at, at+1)
				g.end(w, p, ends)
			}
			if g.chance("something happens", 30) {
				g.happen(w)
			}
		}
	})
}
