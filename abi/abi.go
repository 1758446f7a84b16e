// Package abi names what the scheduler and its plugins agree on: status codes,
// extension points, scopes, limits, and the tables and columns of a snapshot.
//
// It depends on the standard library only, so that a guest can import it, and
// its numbers are stable: an id never changes its meaning.
package abi

import (
	"errors"
	"math"
)

// Code is the outcome of one call, or of one row of a batched call. Numbers and
// meaning are those of k8s.io/kube-scheduler/framework.Code.
type Code uint8

// The status codes.
const (
	// Success means that the plugin has no objection.
	Success Code = 0
	// Error is an internal failure; the pod goes to the error backoff.
	Error Code = 1
	// Unschedulable means that the pod does not fit now, and that removing
	// other pods could help: preemption considers the node.
	Unschedulable Code = 2
	// UnschedulableAndUnresolvable means that removing pods cannot help:
	// preemption skips the node.
	UnschedulableAndUnresolvable Code = 3
	// Wait is an answer of permit: bind later, when allowed.
	Wait Code = 4
	// Skip is an answer of pre_filter and pre_score (leave out the coupled
	// filter or score for this pod) and of bind (let the next plugin bind).
	Skip Code = 5
	// Pending rejects the pod until the plugin itself reports progress; such a
	// pod skips the backoff when it is moved.
	Pending Code = 6

	// NumCodes is the number of defined codes; a larger value is a fault.
	NumCodes = 7
)

// String returns the name that kube-scheduler gives the code.
func (c Code) String() string {
	switch c {
	case Success:
		return "Success"
	case Error:
		return "Error"
	case Unschedulable:
		return "Unschedulable"
	case UnschedulableAndUnresolvable:
		return "UnschedulableAndUnresolvable"
	case Wait:
		return "Wait"
	case Skip:
		return "Skip"
	case Pending:
		return "Pending"
	}
	return "Unknown"
}

// MarshalText writes the code's name, so that reports in JSON can be read.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the code's name.
func (c *Code) UnmarshalText(text []byte) error {
	for known := range Code(NumCodes) {
		if known.String() == string(text) {
			*c = known
			return nil
		}
	}
	return errors.New(string(text) + " is not a code")
}

// Rejected reports whether the code says that the pod cannot be placed, as
// opposed to success and to a failure of the plugin.
func (c Code) Rejected() bool {
	return c == Unschedulable || c == UnschedulableAndUnresolvable || c == Pending
}

// The range of a normalised score.
const (
	MinScore int64 = 0
	MaxScore int64 = 100
)

// NoScore is the score of a node about which a plugin has nothing to say: a normalisation of the host leaves it out (ABI-9.5).
const NoScore int64 = math.MinInt64

// NoNumber is in a column of numbers of objects what an element does not have (ABI-4.22).
const NoNumber int64 = math.MinInt64

// Scope says what a per-node answer may depend on.
type Scope uint8

const (
	// ScopeNode means that the answer for a row is a function of declared pod
	// fields, of this row's declared columns (its pods included) and of the
	// configuration. Such a point may be split over rows and its answers reused
	// until the row changes.
	ScopeNode Scope = iota
	// ScopeCluster means that the answer may depend on other rows too. Such a
	// point sees all standing rows in one call.
	ScopeCluster
)

// String returns "node" or "cluster".
func (s Scope) String() string {
	if s == ScopeCluster {
		return "cluster"
	}
	return "node"
}
