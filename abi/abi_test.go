package abi_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

func TestCodes(t *testing.T) {
	names := map[string]abi.Code{}
	rejected := ""
	for code := abi.Code(0); code < abi.NumCodes; code++ {
		name := code.String()
		if other, taken := names[name]; taken || name == "Unknown" {
			t.Errorf("code %d is called %q, as is %d", code, name, other)
		}
		names[name] = code
		if code.Rejected() {
			rejected += name + " "
		}
	}
	if got := abi.Code(abi.NumCodes).String(); got != "Unknown" {
		t.Errorf("code %d is called %q, want Unknown", abi.NumCodes, got)
	}
	if want := "Unschedulable UnschedulableAndUnresolvable Pending "; rejected != want {
		t.Errorf("rejected are %s, want %s", rejected, want)
	}
}

func TestPoints(t *testing.T) {
	points := abi.Points()
	if len(points) != int(abi.NumPoints) {
		t.Fatalf("%d points, want %d", len(points), abi.NumPoints)
	}
	names := map[string]bool{}
	for i, p := range points {
		if int(p) != i {
			t.Errorf("point %d stands at %d", p, i)
		}
		if name := p.String(); name == "" || name == "Unknown" || names[name] {
			t.Errorf("point %d has no name of its own: %q", p, name)
		}
		names[p.String()] = true
	}
	if got := abi.NumPoints.String(); got != "Unknown" {
		t.Errorf("point %d is called %q, want Unknown", abi.NumPoints, got)
	}
}

func TestScopes(t *testing.T) {
	if abi.ScopeNode.String() != "node" || abi.ScopeCluster.String() != "cluster" {
		t.Errorf("scopes are called %q and %q", abi.ScopeNode, abi.ScopeCluster)
	}
}
