package dynamicresources

import (
	"errors"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-scheduler's errors for devices that do not become ready (KEP-5007).
var (
	errBindingTimeout = errors.New("device binding timeout")
	errBindingFailed  = errors.New("device binding failed")
)

// ready reports whether all devices of an allocated claim fulfil their binding conditions.
//
// # Errors
//
// The driver says that a device failed.
func ready(claim *resourcev1.ResourceClaim) (bool, error) {
	for i := range claim.Status.Allocation.Devices.Results {
		r := &claim.Status.Allocation.Devices.Results[i]
		if len(r.BindingConditions) == 0 {
			continue
		}
		device := deviceStatus(claim, r)
		if device == nil {
			return false, nil
		}
		for _, name := range r.BindingFailureConditions {
			if c := meta.FindStatusCondition(device.Conditions, name); c != nil && c.Status == metav1.ConditionTrue {
				return false, fmt.Errorf("%w: claim=%s, reason=%s, message=%q", errBindingFailed, claim.Name, c.Reason, c.Message)
			}
		}
		for _, name := range r.BindingConditions {
			if !meta.IsStatusConditionTrue(device.Conditions, name) {
				return false, nil
			}
		}
	}
	return true, nil
}

// late reports whether the devices of a claim that is not ready had their time.
func (d *DynamicResources) late(claim *resourcev1.ResourceClaim, now time.Time) bool {
	if !awaited(claim) {
		return false
	}
	since := claim.Status.Allocation.AllocationTimestamp
	return since != nil && since.Add(d.bindTimeout).Before(now)
}

// awaited reports whether a claim has devices with binding conditions.
func awaited(claim *resourcev1.ResourceClaim) bool {
	if claim.Status.Allocation == nil {
		return false
	}
	for i := range claim.Status.Allocation.Devices.Results {
		if len(claim.Status.Allocation.Devices.Results[i].BindingConditions) > 0 {
			return true
		}
	}
	return false
}

// deviceStatus returns the driver's status of an allocated device; nil if there is none.
func deviceStatus(claim *resourcev1.ResourceClaim, r *resourcev1.DeviceRequestAllocationResult) *resourcev1.AllocatedDeviceStatus {
	for i := range claim.Status.Devices {
		if s := &claim.Status.Devices[i]; s.Device == r.Device && s.Driver == r.Driver && s.Pool == r.Pool {
			return s
		}
	}
	return nil
}
