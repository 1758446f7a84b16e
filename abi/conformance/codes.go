package conformance

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// results returns the codes that a point's function may return (ABI-5).
func results(point abi.Point) []abi.Code {
	const (
		success = abi.Success
		failure = abi.Error
		no      = abi.Unschedulable
		never   = abi.UnschedulableAndUnresolvable
	)
	switch point {
	case abi.PreFilter:
		return []abi.Code{success, abi.Skip, no, never, failure}
	case abi.PostFilter:
		return []abi.Code{success, no, never, failure}
	case abi.PreScore:
		return []abi.Code{success, abi.Skip, failure}
	case abi.Reserve, abi.PreBind:
		return []abi.Code{success, no, never, abi.Pending, failure}
	case abi.Permit:
		return []abi.Code{success, abi.Wait, no, never, abi.Pending, failure}
	case abi.Bind:
		return []abi.Code{success, abi.Skip, no, never, abi.Pending, failure}
	}
	return []abi.Code{success, failure}
}

// elements returns the codes that a row or a pod may have (ABI-5.5, 5.9, 5.12).
func elements(point abi.Point) []abi.Code {
	if point == abi.Hint {
		return []abi.Code{abi.Success, abi.Skip, abi.Error}
	}
	return []abi.Code{abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending, abi.Error}
}

// counts reports whether the directives of a call are carried out (ABI-13.3).
func counts(point abi.Point, result abi.Code, kind abi.DirectiveKind) bool {
	switch {
	case result == abi.Success, result == abi.Wait && point == abi.Permit:
		return true
	case point == abi.PostFilter:
		return kind != abi.Nominate && (result == abi.Unschedulable || result == abi.UnschedulableAndUnresolvable)
	}
	return false
}

// node reports whether a plugin has a point of scope node.
func node(man *wire.Manifest) bool {
	return slices.ContainsFunc([]abi.Point{abi.Filter, abi.Score}, func(p abi.Point) bool {
		return man.Points.Get(p) != nil && man.Scope(p) == abi.ScopeNode
	})
}
