package fields

import "github.com/berth-scheduler/berth/abi"

// Function is a function of the host's module (ABI-7).
type Function struct {
	Name string
	// Params and Result have a letter for each value: i for i32.
	Params, Result string
	// Reads is the id of what its results depend on, besides what the plugin itself has written; 0 for nothing.
	Reads abi.ColumnID
	// Grant is what a plugin of a tenant must be granted to call it, because it tells of other tenants; empty for nothing.
	Grant string
	// Since is the minor version of the ABI that first had it.
	Since int
}

// Functions returns the functions.
func Functions() []Function {
	return []Function{
		{Name: abi.HostLog, Params: "iii"},
		{Name: abi.HostStateGet, Params: "iiii", Result: "i"},
		{Name: abi.HostStateSet, Params: "iiii", Result: "i"},
		{Name: abi.HostPublishedGet, Params: "iii", Result: "i"},
		{Name: abi.HostPodObject, Params: "iii", Result: "i", Reads: abi.PodWhole},
		{Name: abi.HostNodeObject, Params: "iii", Result: "i", Reads: abi.NodeGenerations, Grant: "nodeObjects"},
	}
}
