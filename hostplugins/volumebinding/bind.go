package volumebinding

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PreBindPreFlight skips pods whose claims are all bound already.
func (b *VolumeBinding) PreBindPreFlight(pl *plugin.Placement) *plugin.Status {
	if _, ok := pl.State.Read(Name, reserveKey).(*reservation); !ok {
		return plugin.NewStatus(abi.Skip)
	}
	return nil
}

// PreBind writes the assumed changes to the API and waits for the controllers to bind the
// volumes to claims and to provision them. An error, including a timeout, sends the pod back to
// the queue.
func (b *VolumeBinding) PreBind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	r, ok := pl.State.Read(Name, reserveKey).(*reservation)
	if !ok {
		return plugin.Directives{}, nil
	}
	if err := b.write(pl.Context, r); err != nil {
		return plugin.Directives{}, plugin.Fail(err)
	}
	err := b.deps.Waiter.Await(pl.Context, b.timeout, func() (bool, error) { return b.done(pl, r) })
	if err != nil {
		return plugin.Directives{}, plugin.Fail(fmt.Errorf("binding volumes: %w", err))
	}
	return plugin.Directives{}, nil
}

// write writes the assumed changes, one after the other. Nothing is undone if a later one
// fails: the controllers continue from what is written.
func (b *VolumeBinding) write(ctx context.Context, r *reservation) error {
	for i := range r.bindings {
		v := &r.bindings[i]
		pv, err := b.deps.Writer.UpdateVolume(ctx, v.pv)
		if err != nil {
			return err
		}
		v.written = pv
	}
	for i := range r.provisions {
		c := &r.provisions[i]
		claim, err := b.deps.Writer.UpdateClaim(ctx, c.claim)
		if err != nil {
			return err
		}
		c.written = claim
	}
	return nil
}

// done reports whether all claims are bound. It reads the API objects, not the assumed ones,
// and fails when the pod has to be scheduled again.
func (b *VolumeBinding) done(pl *plugin.Placement, r *reservation) (bool, error) {
	name := pl.Pod.NodeName()
	node := b.deps.Exists.NodeObject(name)
	if node == nil {
		return false, fmt.Errorf("failed to get node %q: it no longer exists", name)
	}
	if !b.deps.Exists.HasPod(pl.Pod.Namespace, pl.Pod.Name) {
		return false, fmt.Errorf("pod does not exist any more: pod %q not found", pl.Pod.Name)
	}
	csi := b.deps.Storage.CSINodes.CSINode(name)
	for i := range r.bindings {
		if done, err := b.volumeBound(&r.bindings[i], node, csi); !done || err != nil {
			return false, err
		}
	}
	for i := range r.provisions {
		if done, err := b.provisioned(&r.provisions[i], node, csi); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

// volumeBound checks a claim that was given a volume.
func (b *VolumeBinding) volumeBound(v *binding, node *v1.Node, csi *storagev1.CSINode) (bool, error) {
	pv := b.deps.Storage.Volumes.Volume(v.pv.Name)
	if pv == nil {
		return false, fmt.Errorf("failed to check binding: %w", claims.NoVolume(v.pv.Name))
	}
	claim := b.deps.Storage.Claims.Claim(v.claim.Namespace, v.claim.Name)
	if claim == nil {
		return false, fmt.Errorf("failed to check binding: %w", claims.NoClaim(v.claim.Name))
	}
	if old, err := older(pv.ResourceVersion, v.written.ResourceVersion); old || err != nil {
		return false, err // the write is not visible yet
	}
	if err := reachable(pv, node, csi); err != nil {
		return false, err
	}
	if ref := pv.Spec.ClaimRef; ref == nil || ref.UID == "" {
		return false, fmt.Errorf("ClaimRef got reset for pv %q", pv.Name)
	}
	return fullyBound(claim), nil
}

// provisioned checks a claim that a volume is being provisioned for.
func (b *VolumeBinding) provisioned(c *provisioning, node *v1.Node, csi *storagev1.CSINode) (bool, error) {
	claim := b.deps.Storage.Claims.Claim(c.claim.Namespace, c.claim.Name)
	if claim == nil {
		return false, fmt.Errorf("failed to check provisioning pvc: %w", claims.NoClaim(c.claim.Name))
	}
	if old, err := older(claim.ResourceVersion, c.written.ResourceVersion); old || err != nil {
		return false, err
	}
	if claim.Annotations == nil {
		return false, fmt.Errorf("selectedNode annotation reset for PVC %q", claim.Name)
	}
	// A provisioner that fails removes the annotation, so that another node is chosen.
	if claim.Annotations[volume.AnnSelectedNode] != node.Name {
		return false, fmt.Errorf("provisioning failed for PVC %q", claim.Name)
	}
	if claim.Spec.VolumeName != "" {
		pv := b.deps.Storage.Volumes.Volume(claim.Spec.VolumeName)
		if pv == nil {
			return false, nil // not visible yet, or deleted, and then the claim will change
		}
		if err := reachable(pv, node, csi); err != nil {
			return false, err
		}
	}
	return fullyBound(claim), nil
}

// older reports whether one version of an object precedes another.
func older(shown, written string) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(shown, written)
	if err != nil {
		return false, fmt.Errorf("compare resource versions: %w", err)
	}
	return order < 0, nil
}

// reachable checks a volume's node affinity against a node.
func reachable(pv *v1.PersistentVolume, node *v1.Node, csi *storagev1.CSINode) error {
	pv, err := asOn(pv, csi)
	if err != nil {
		return fmt.Errorf("failed to translate pv to csi: %w", err)
	}
	if err := volume.CheckNodeAffinity(pv, node.Labels); err != nil {
		return fmt.Errorf("pv %q node affinity doesn't match node %q: %w", pv.Name, node.Name, err)
	}
	return nil
}
