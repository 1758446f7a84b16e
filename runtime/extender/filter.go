package extender

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Rejection is a node that an extender rejected.
type Rejection struct {
	Row uint32
	// Code is Unschedulable, or UnschedulableAndUnresolvable if preemption does not help: the
	// extender says so, or gives no reason.
	Code abi.Code
	// Reason is the extender's text; may be empty.
	Reason string
}

// filterResult is an extenderv1.ExtenderFilterResult that keeps only the names of nodes.
type filterResult struct {
	Nodes *struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	NodeNames                               *[]string
	FailedNodes, FailedAndUnresolvableNodes extenderv1.FailedNodesMap
	Error                                   string
}

// Filter calls the extenders that are interested in the cycle's pod one after the other, each
// with the rows that the previous one accepted. It returns the rows that all accepted,
// ascending, and the rejected ones.
//
// # Errors
//
// An extender that is not ignorable fails, or returns nodes that were not in the request.
func (e *Extenders) Filter(c *plugin.Cycle, rows []uint32) (standing []uint32, rejected []Rejection, err error) {
	if e == nil {
		return rows, nil, nil
	}
	for _, x := range e.all {
		if len(rows) == 0 {
			break
		}
		if x.config.FilterVerb == "" || !x.interested(c.Pod) {
			continue
		}
		stand, refused, err := x.filter(c, rows)
		if err != nil {
			if e.ignore(x, x.config.FilterVerb, c.Pod, err) {
				continue
			}
			return nil, nil, err
		}
		rows, rejected = stand, append(rejected, refused...)
	}
	return rows, rejected, nil
}

func (x *extender) filter(c *plugin.Cycle, rows []uint32) (standing []uint32, rejected []Rejection, err error) {
	var result filterResult
	if err := x.ask(c.Context, x.config.FilterVerb, len(rows), x.args(c, rows), &result); err != nil {
		return nil, nil, err
	}
	if result.Error != "" {
		return nil, nil, errors.New(plain.Line(result.Error, abi.MaxTextSize))
	}
	stands := make(map[string]bool)
	switch {
	case x.config.NodeCacheCapable && result.NodeNames != nil:
		for _, name := range *result.NodeNames {
			stands[name] = true
		}
	case result.Nodes != nil:
		for i := range result.Nodes.Items {
			stands[result.Nodes.Items[i].Metadata.Name] = true
		}
	}
	for _, row := range rows {
		name := c.Snapshot.Name(row)
		if stands[name] {
			standing = append(standing, row)
			delete(stands, name)
			continue
		}
		rejected = append(rejected, result.rejection(row, name))
	}
	if len(stands) > 0 {
		name := slices.Sorted(maps.Keys(stands))[0]
		return nil, nil, fmt.Errorf("extender %s: %s: the answer has the node %s, which was not in the request", x.client.name, x.config.FilterVerb, plain.Quote(name, maxNamed))
	}
	return standing, rejected, nil
}

// maxNamed is the maximum size of a name in an error, in bytes.
const maxNamed = 256

// rejection explains why a node was not accepted. A node in both maps is unresolvable.
func (r *filterResult) rejection(row uint32, name string) Rejection {
	if reason, ok := r.FailedAndUnresolvableNodes[name]; ok {
		return Rejection{Row: row, Code: abi.UnschedulableAndUnresolvable, Reason: plain.Line(reason, abi.MaxTextSize)}
	}
	if reason, ok := r.FailedNodes[name]; ok {
		return Rejection{Row: row, Code: abi.Unschedulable, Reason: plain.Line(reason, abi.MaxTextSize)}
	}
	return Rejection{Row: row, Code: abi.UnschedulableAndUnresolvable}
}

// args returns the pod and the nodes: only their names for an extender with a node cache.
func (x *extender) args(c *plugin.Cycle, rows []uint32) *extenderv1.ExtenderArgs {
	args := &extenderv1.ExtenderArgs{Pod: c.Pod.Object}
	if x.config.NodeCacheCapable {
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = c.Snapshot.Name(row)
		}
		args.NodeNames = &names
		return args
	}
	args.Nodes = &v1.NodeList{Items: slices.Grow([]v1.Node(nil), len(rows))}
	for _, row := range rows {
		args.Nodes.Items = append(args.Nodes.Items, *c.Snapshot.Nodes.Node[row].Object)
	}
	return args
}
