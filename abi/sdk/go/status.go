package berth

import "github.com/berth-scheduler/berth/abi"

// Status is the answer to a call, or for one node of a call.
type Status uint32

// The statuses without a reason.
const (
	// Success means that the plugin has no objection.
	Success = Status(abi.Success)
	// Skip is an answer of PreFilter, PreScore and Prepare: there is nothing to do for this pod;
	// and of Bind: let the next plugin bind it.
	Skip = Status(abi.Skip)
	// Wait is an answer of Permit: hold the pod until the plugin allows it.
	Wait = Status(abi.Wait)
)

// Reason is a reason for people, made by [Base.Reason]. The zero value means none.
type Reason uint16

// Unschedulable says that the pod does not fit, and that removing other pods could help:
// preemption considers the node.
func Unschedulable(r Reason) Status { return status(abi.Unschedulable, r) }

// UnschedulableAndUnresolvable says that the pod does not fit, and that removing pods cannot
// help: preemption skips the node.
func UnschedulableAndUnresolvable(r Reason) Status {
	return status(abi.UnschedulableAndUnresolvable, r)
}

// Pending says that the pod has to wait for something that the plugin will be notified of.
func Pending(r Reason) Status { return status(abi.Pending, r) }

// Error says that the plugin failed.
func Error(r Reason) Status { return status(abi.Error, r) }

func status(code abi.Code, r Reason) Status { return Status(code) | Status(r)<<8 }

// Code returns the status's code.
func (s Status) Code() Code { return Code(s) }

// Reason returns the status's reason; may be 0.
func (s Status) Reason() Reason { return Reason(s >> 8) }
