package dynamicresources

import (
	"encoding/json"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// carriedFlight is a claim in flight, in a checkpoint: what the ledger reads of it.
type carriedFlight struct {
	UID     types.UID                                  `json:"uid"`
	Name    string                                     `json:"name"`
	Results []resourcev1.DeviceRequestAllocationResult `json:"results,omitempty"`
}

// CarriedFor implements plugin.Carrier. Only flights that have not ended count.
func (d *DynamicResources) CarriedFor(pl *plugin.Placement) json.RawMessage {
	if pl == nil {
		return nil
	}
	a := attemptOf(pl.State)
	if a == nil {
		return nil
	}
	var flights []carriedFlight
	for i := range a.claims {
		if f := a.claims[i].flight; f != nil && d.deps.Ledger.flights[f.UID] == f {
			flights = append(flights, carriedFlight{UID: f.UID, Name: f.Name, Results: f.Status.Allocation.Devices.Results})
		}
	}
	if len(flights) == 0 {
		return nil
	}
	data, err := json.Marshal(flights)
	if err != nil {
		panic("BUG: flights cannot be encoded: " + err.Error())
	}
	return data
}

// ChangedFor implements plugin.Carrier. What Unreserve makes of what was written are requests, which a replay does not make.
func (d *DynamicResources) ChangedFor(*plugin.Placement) json.RawMessage { return nil }

// ResumeFor implements plugin.Carrier.
func (d *DynamicResources) ResumeFor(pl *plugin.Placement, carried json.RawMessage) error {
	var flights []carriedFlight
	if err := json.Unmarshal(carried, &flights); err != nil {
		return err
	}
	a := &attempt{running: pl.Context}
	for _, f := range flights {
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pl.Pod.Namespace, Name: f.Name, UID: f.UID}}
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: f.Results}}
		a.claims = append(a.claims, podClaim{object: claim, flight: d.deps.Ledger.start(claim)})
	}
	pl.State.Write(Name, stateKey, a)
	pl.Ended = append(pl.Ended, func() { d.land(a) })
	return nil
}
