package config

import configv1 "k8s.io/kube-scheduler/config/v1"

// Extension points with rules of their own, by their names in the JSON of the v1 Plugins
// struct.
const (
	pointQueueSort  = "queueSort"
	pointScore      = "score"
	pointBind       = "bind"
	pointMultiPoint = "multiPoint"
	pointPodGroups  = "podGroupPostFilter"
)

// pointSet is the part of a profile's plugins for one extension point.
type pointSet struct {
	point string
	set   *configv1.PluginSet
}

// pointSets lists the extension points in the order of a pod's path. The points of pod groups, which
// Berth does not have yet, are last: a built-in plugin there is an error, but for
// podGroupPostFilter, which plugins of kube-scheduler have that Berth has; one that is not
// implemented is left out.
func pointSets(p *configv1.Plugins) []pointSet {
	return []pointSet{
		{"preEnqueue", &p.PreEnqueue},
		{pointQueueSort, &p.QueueSort},
		{"preFilter", &p.PreFilter},
		{"filter", &p.Filter},
		{"postFilter", &p.PostFilter},
		{"preScore", &p.PreScore},
		{pointScore, &p.Score},
		{"reserve", &p.Reserve},
		{"permit", &p.Permit},
		{"preBind", &p.PreBind},
		{pointBind, &p.Bind},
		{"postBind", &p.PostBind},
		{"placementGenerate", &p.PlacementGenerate},
		{"placementScore", &p.PlacementScore},
		{pointPodGroups, &p.PodGroupPostFilter},
	}
}
