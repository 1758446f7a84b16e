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

// onTheWay is a pod that is being bound, from Reserve on.
type onTheWay struct {
	placement *plugin.Placement
	volumes   []*v1.PersistentVolume      // as its binding would write them
	claims    []*v1.PersistentVolumeClaim // likewise
	versions  map[metav1.Object]string    // of these objects at the time of Reserve
}

// promised returns the cluster as it would be if everything reserved were written.
func (w *volumeWorld) promised(pods []*onTheWay) *volumeWorld {
	out := w.copied()
	for _, p := range pods {
		for _, pv := range p.volumes {
			if now := named(w.volumes, "", pv.Name); now != nil && now.ResourceVersion == p.versions[pv] {
				out.set(as(pv, now))
			}
		}
		for _, claim := range p.claims {
			if now := named(w.claims, claim.Namespace, claim.Name); now != nil && now.ResourceVersion == p.versions[claim] {
				out.set(as(claim, now))
			}
		}
	}
	return out
}

// as returns the object with the version of another.
func as[T interface {
	metav1.Object
	DeepCopy() T
}](object, other T) T {
	object = object.DeepCopy()
	object.SetResourceVersion(other.GetResourceVersion())
	return object
}

// changed appends the objects of after that are not of the version that they have in before.
func changed[T metav1.Object](out, before, after []T, versions map[metav1.Object]string) []T {
	for _, object := range after {
		if old := named(before, object.GetNamespace(), object.GetName()); object.GetResourceVersion() != old.GetResourceVersion() {
			versions[object] = old.GetResourceVersion()
			out = append(out, object)
		}
	}
	return out
}

// placementOn returns the placement of a cycle's pod on a node.
func placementOn(c *plugin.Cycle, n *v1.Node) *plugin.Placement {
	return &plugin.Placement{
		Context: context.Background(), Pod: c.Pod.On(n.Name, state.Patch{}), Node: state.NewNode(n), State: c.State,
	}
}

// wouldWrite binds a pod in a copy of the cluster, in which no controller answers, and returns
// what was written.
func (w *volumeWorld) wouldWrite(t *testing.T, rt *rapid.T, pod *v1.Pod, n *v1.Node) *onTheWay {
	dry := w.copied()
	dry.refuse, dry.late, dry.gone = "", true, false
	p, c := dry.plugins(t, nil)["VolumeBinding"], cycleOf(dry.snapshot(), pod)
	ask(p, c)
	placement := placementOn(c, n)
	if _, status := p.(plugin.Reserve).Reserve(placement); !status.Success() {
		rt.Fatalf("reserve: %v", status.Message())
	}
	p.(plugin.PreBind).PreBind(placement)
	out := &onTheWay{versions: map[metav1.Object]string{}}
	out.volumes = changed(out.volumes, w.volumes, dry.volumes, out.versions)
	out.claims = changed(out.claims, w.claims, dry.claims, out.versions)
	return out
}

// reserve reserves the first node that fits; nil if there is none.
func (w *volumeWorld) reserve(t *testing.T, rt *rapid.T, p plugin.Plugin, c *plugin.Cycle, verdicts said, seen *volumeWorld) *onTheWay {
	row := slices.Index(verdicts.nodes, inWords(abi.Success, nil))
	if row < 0 {
		return nil
	}
	n := w.nodes[row]
	out := seen.wouldWrite(t, rt, c.Pod.Object, n)
	out.placement = placementOn(c, n)
	if _, status := p.(plugin.Reserve).Reserve(out.placement); !status.Success() {
		rt.Fatalf("reserve: %v", status.Message())
	}
	skips := p.(plugin.PreBind).PreBindPreFlight(out.placement).Is(abi.Skip)
	if nothing := len(out.volumes)+len(out.claims) == 0; skips != nothing {
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
			got, want := ask(p, c), seen.fresh(t, "VolumeBinding", pod)
			if got.pre != want.pre || !slices.Equal(got.nodes, want.nodes) {
				rt.Fatalf("with %d pods being bound:\n%v\nwant\n%v", len(pods), got, want)
			}
			if way := w.reserve(t, rt, p, c, got, seen); way != nil {
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
