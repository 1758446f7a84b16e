package volumebinding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/migration"
	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/hostplugins/internal/topology"
	"github.com/berth-scheduler/berth/runtime/state"
)

// boundClaim is a claim that has its volume.
type boundClaim struct {
	missing bool // the volume does not exist
	reach   nodeselector.Selector
	// inTree is the in-tree plugin of the volume, if a CSI driver serves it on some nodes. There
	// the volume is as the driver sees it.
	inTree     string
	translated nodeselector.Selector
	problem    error // why it cannot be translated
}

func (b *VolumeBinding) bound(claim *v1.PersistentVolumeClaim, s *state.Snapshot) boundClaim {
	pv := b.deps.Ledger.volume(claim.Spec.VolumeName)
	if pv == nil {
		return boundClaim{missing: true}
	}
	reach := topology.OfVolume(pv)
	out := boundClaim{reach: reach.Resolve(s.Strings)}
	inTree, ok := migration.InTree(pv)
	if !ok || !migration.Served(inTree) {
		return out
	}
	out.inTree = inTree
	csi, err := migration.Translate(pv)
	if err != nil {
		out.problem = fmt.Errorf("could not translate pv: %w", err)
		return out
	}
	reach = topology.OfVolume(csi)
	out.translated = reach.Resolve(s.Strings)
	return out
}

// asOn returns a volume as it is on a node with this CSINode, which may be nil.
func asOn(pv *v1.PersistentVolume, node *storagev1.CSINode) (*v1.PersistentVolume, error) {
	inTree, ok := migration.InTree(pv)
	if !ok || !migration.Served(inTree) || !migration.OnNode(inTree, node) {
		return pv, nil
	}
	csi, err := migration.Translate(pv)
	if err != nil {
		return nil, fmt.Errorf("could not translate pv: %w", err)
	}
	return csi, nil
}

// check checks the volumes of bound claims against rows, and records in found why a row is
// rejected, or that the check failed. As in kube-scheduler, the first claim that rejects a row
// decides.
func (b *VolumeBinding) check(p *plan, rows []uint32, found []finding) {
	for i := range p.bound {
		claim := &p.bound[i]
		if claim.missing {
			for j := range found {
				if found[j].why == 0 {
					found[j].why = noVolume
				}
			}
			return
		}
		reach := matches(&claim.reach, p.snapshot, rows)
		var translated []uint8
		for j, row := range rows {
			if found[j].why != 0 || found[j].err != nil {
				continue
			}
			reached := reach[j] != 0
			if claim.inTree != "" && migration.OnNode(claim.inTree, b.deps.Storage.CSINodes.CSINode(p.snapshot.Name(row))) {
				if found[j].err = claim.problem; found[j].err != nil {
					continue
				}
				if translated == nil {
					translated = matches(&claim.translated, p.snapshot, rows)
				}
				reached = translated[j] != 0
			}
			if !reached {
				found[j].why = wrongNode
			}
		}
	}
}

// matches returns a 1 for each row that a selector matches.
func matches(selector *nodeselector.Selector, s *state.Snapshot, rows []uint32) []uint8 {
	out := make([]uint8, len(rows))
	var mask nodeselector.Mask
	for start := 0; start < len(rows); start += nodeselector.Block {
		block := rows[start:min(start+nodeselector.Block, len(rows))]
		selector.Match(s, block, &mask)
		copy(out[start:], mask[:len(block)])
	}
	return out
}
