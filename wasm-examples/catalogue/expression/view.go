package expression

import (
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression/cel"
)

// The variables.
const (
	podNamespace = iota
	podNamespaceLabels
	podLabels
	podAnnotations
	podRequests
	podLimits
	podPriority
	podPriorityClass
	podServiceAccount
	podOwner
	podQOS
	podImages
	nodeName
	nodeLabels
	nodeAnnotations
	nodeAllocatable
	nodeCapacity
	nodeRequested
	nodeTaints
	nodeUnschedulable
	nodeCreatedAt
	nodeFeeds
)

// taint returns the type of the elements of node.taints.
func taint() cel.Type {
	return cel.Type{Kind: cel.Object, Name: "taint", Fields: []cel.Field{
		{Name: "key", Type: cel.Of(cel.String)}, {Name: "value", Type: cel.Of(cel.String)}, {Name: "effect", Type: cel.Of(cel.String)},
	}}
}

// effect returns the name of a taint's effect.
func effect(e berth.Effect) string {
	switch e {
	case berth.NoSchedule:
		return "NoSchedule"
	case berth.PreferNoSchedule:
		return "PreferNoSchedule"
	}
	return "NoExecute"
}

// Variables returns what an expression can name, with the keys that the configuration has of maps.
func Variables(labels, annotations, ofPods, resources, feeds []string) []cel.Variable {
	texts, amounts := cel.Map(cel.Of(cel.String)), cel.Map(cel.Of(cel.Int))
	return []cel.Variable{
		podNamespace:       {Name: "pod.namespace", Type: cel.Of(cel.String)},
		podNamespaceLabels: {Name: "pod.namespaceLabels", Type: texts},
		podLabels:          {Name: "pod.labels", Type: texts},
		podAnnotations:     {Name: "pod.annotations", Type: texts, Keys: ofPods, Named: "podAnnotations"},
		podRequests:        {Name: "pod.requests", Type: amounts, Keys: resources, Named: "resources"},
		podLimits:          {Name: "pod.limits", Type: amounts, Keys: resources, Named: "resources"},
		podPriority:        {Name: "pod.priority", Type: cel.Of(cel.Int)},
		podPriorityClass:   {Name: "pod.priorityClass", Type: cel.Of(cel.String)},
		podServiceAccount:  {Name: "pod.serviceAccount", Type: cel.Of(cel.String)},
		podOwner:           {Name: "pod.owner", Type: cel.Of(cel.String)},
		podQOS:             {Name: "pod.qos", Type: cel.Of(cel.String)},
		podImages:          {Name: "pod.images", Type: cel.List(cel.Of(cel.String))},
		nodeName:           {Name: "node.name", Type: cel.Of(cel.String), Node: true},
		nodeLabels:         {Name: "node.labels", Type: texts, Node: true, Keys: labels, Named: "nodeLabels"},
		nodeAnnotations:    {Name: "node.annotations", Type: texts, Node: true, Keys: annotations, Named: "nodeAnnotations"},
		nodeAllocatable:    {Name: "node.allocatable", Type: amounts, Node: true, Keys: resources, Named: "resources"},
		nodeCapacity:       {Name: "node.capacity", Type: amounts, Node: true, Keys: resources, Named: "resources"},
		nodeRequested:      {Name: "node.requested", Type: amounts, Node: true, Keys: resources, Named: "resources"},
		nodeTaints:         {Name: "node.taints", Type: cel.List(taint()), Node: true},
		nodeUnschedulable:  {Name: "node.unschedulable", Type: cel.Of(cel.Bool), Node: true},
		nodeCreatedAt:      {Name: "node.createdAt", Type: cel.Of(cel.Int), Node: true},
		nodeFeeds:          {Name: "node.feeds", Type: amounts, Node: true, Keys: feeds, Named: "feeds"},
	}
}

// view has the values of variables for a pod and a node.
type view struct {
	base berth.Base
	pod  berth.Pod
	node berth.Node

	// The handles of the names that the configuration has, sorted by name.
	names          [nodeFeeds + 1][]string
	resources      []berth.Resource
	labels         []berth.NodeLabel
	annotations    []berth.NodeAnnotation
	podAnnotations []berth.PodAnnotation
	feeds          []berth.Feed
	// What lists of the node that is looked at are in.
	fields []cel.Value
	taints []cel.Elements
	values []cel.Value
}

// handles returns the names of a list of the configuration and others, sorted, and their handles.
func handles[T any](list config.Value, find func(string) (T, bool), others ...string) (names []string, all []T) {
	for _, e := range list.Elements() {
		others = append(others, e.Text(""))
	}
	slices.Sort(others)
	for _, name := range slices.Compact(others) {
		if h, ok := find(name); ok {
			names, all = append(names, name), append(all, h)
		}
	}
	return names, all
}

// configure finds the names, and returns the variables.
func (v *view) configure(c config.Value) []cel.Variable {
	b := v.base
	var labels, annotations, ofPods, resources, feeds []string
	labels, v.labels = handles(c.Get("nodeLabels"), b.FindNodeLabel)
	annotations, v.annotations = handles(c.Get("nodeAnnotations"), b.FindNodeAnnotation)
	ofPods, v.podAnnotations = handles(c.Get("podAnnotations"), b.FindPodAnnotation, "cluster-autoscaler.kubernetes.io/safe-to-evict")
	resources, v.resources = handles(c.Get("resources"), b.FindResource, "cpu", "memory", "pods", "ephemeral-storage")
	feeds, v.feeds = handles(c.Get("feeds"), b.FindFeed)
	variables := Variables(labels, annotations, ofPods, resources, feeds)
	for i := range variables {
		v.names[i] = variables[i].Keys
	}
	return variables
}

// at makes a node the one that is looked at.
func (v *view) at(node berth.Node) { v.node = node }

// text returns the string of an id; false for none.
func (v *view) text(id berth.ID) (cel.Value, bool) {
	if id == berth.Absent {
		return cel.Value{}, false
	}
	return cel.StringValue(v.base.Text(id)), true
}

// Entry returns an entry of a map whose keys the configuration has.
func (v *view) Entry(variable, key int) (cel.Value, bool) {
	switch variable {
	case nodeLabels:
		return v.text(v.node.Label(v.labels[key]))
	case nodeAnnotations:
		return v.text(v.node.Annotation(v.annotations[key]))
	case podAnnotations:
		return v.text(v.pod.Annotation(v.podAnnotations[key]))
	case nodeAllocatable:
		return cel.IntValue(v.node.Allocatable(v.resources[key])), true
	case nodeCapacity:
		return cel.IntValue(v.node.Capacity(v.resources[key])), true
	case nodeRequested:
		return cel.IntValue(v.node.Requested(v.resources[key])), true
	case podRequests:
		return cel.IntValue(v.pod.Request(v.resources[key])), true
	case podLimits:
		limit := v.pod.Limit(v.resources[key])
		return cel.IntValue(limit), limit >= 0
	}
	return cel.IntValue(v.node.Feed(v.feeds[key])), v.node.FeedState(v.feeds[key]) == berth.FeedFresh
}

// Value returns the value of a variable.
func (v *view) Value(variable int) cel.Value {
	var id berth.ID
	switch variable {
	case podNamespace:
		id = v.pod.Namespace()
	case podPriorityClass:
		id = v.pod.PriorityClass()
	case podServiceAccount:
		id = v.pod.ServiceAccount()
	case podOwner:
		id = v.pod.Owner()
	case podQOS:
		id = v.pod.QOS()
	case podPriority:
		return cel.IntValue(v.pod.Priority())
	case podLabels:
		return v.pairs(v.pod.Labels())
	case podNamespaceLabels:
		return v.pairs(v.pod.NamespaceLabels())
	case podImages:
		e := &cel.Elements{}
		for _, image := range v.pod.Images() {
			e.Values = append(e.Values, cel.StringValue(v.base.Text(image)))
		}
		return cel.ElementsValue(e)
	case nodeName:
		return cel.StringValue(v.node.Name())
	case nodeUnschedulable:
		return cel.BoolValue(v.node.Unschedulable())
	case nodeCreatedAt:
		return cel.IntValue(v.node.CreatedAt())
	case nodeTaints:
		return v.taintsOf()
	default:
		return v.entries(variable)
	}
	return cel.StringValue(v.base.Text(id))
}

// pairs returns labels as a map.
func (v *view) pairs(labels []berth.Pair) cel.Value {
	all := make(map[string]cel.Value, len(labels))
	for _, l := range labels {
		all[v.base.Text(l.Key)] = cel.StringValue(v.base.Text(l.Value))
	}
	return cel.MapValue(all)
}

// entries returns a whole map whose keys the configuration has: a part of an expression asks for one that is not constant.
func (v *view) entries(variable int) cel.Value {
	e := &cel.Elements{}
	for i, name := range v.names[variable] {
		if value, ok := v.Entry(variable, i); ok {
			e.Keys, e.Values = append(e.Keys, name), append(e.Values, value)
		}
	}
	return cel.ElementsValue(e)
}

// taintsOf returns the taints of the node. They are in buffers until the next call.
func (v *view) taintsOf() cel.Value {
	taints := v.node.Taints()
	if need := len(taints); need > len(v.taints) {
		v.fields, v.taints, v.values = make([]cel.Value, 3*need), make([]cel.Elements, need), make([]cel.Value, need)
	}
	for i, t := range taints {
		fields := v.fields[3*i:][:3]
		fields[0], fields[1] = cel.StringValue(v.base.Text(t.Key)), cel.StringValue(v.base.Text(t.Value))
		fields[2] = cel.StringValue(effect(t.Effect))
		v.taints[i].Values = fields
		v.values[i] = cel.ElementsValue(&v.taints[i])
	}
	return cel.ElementsValue(&cel.Elements{Values: v.values[:len(taints)]})
}
