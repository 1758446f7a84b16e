package berth

// Plugin is a plugin: a pointer to a struct that embeds Base.
type Plugin interface{ core() *core }

// Configurer is a plugin with a configuration.
type Configurer interface {
	Plugin
	// Configure gets the configuration as JSON, once, before any point. The host
	// has checked it against the manifest's schema. An error refuses it and is
	// shown to the user.
	Configure(config []byte) error
}

// Preparer is a plugin that looks at the pod once before the nodes of a call.
type Preparer interface {
	Plugin
	// Prepare is called at the start of each call of Filter or Score for many
	// nodes, with the pod of that call. It is where a plugin looks up what does not
	// depend on the node; fields that it sets must not depend on earlier calls.
	//
	// Success goes on to the nodes. Skip means that the plugin has no objection to
	// any node, or scores all of them 0. Error fails the call. Another status is
	// Filter's answer for every node of the call.
	Prepare(pod Pod) Status
}

// PreFilterer is a plugin with the point PreFilter.
type PreFilterer interface {
	Plugin
	// PreFilter looks at the pod once before nodes are filtered. It may narrow the
	// nodes down to rows; nil is all of them. Skip leaves out Filter for this pod.
	// If all points of the plugin are of scope node, nodes is empty and rows must
	// be nil.
	PreFilter(pod Pod, nodes Nodes) (rows *Rows, status Status)
}

// Filterer is a plugin with the point Filter.
type Filterer interface {
	Plugin
	// Filter judges a node: Success, Unschedulable, UnschedulableAndUnresolvable,
	// Pending or Error.
	Filter(pod Pod, node Node) Status
}

// PreScorer is a plugin with the point PreScore.
type PreScorer interface {
	Plugin
	// PreScore looks at the nodes that passed all filters, once before they are
	// scored. Skip leaves out Score for this pod.
	PreScore(pod Pod, nodes Nodes) Status
}

// Scorer is a plugin with the point Score.
type Scorer interface {
	Plugin
	// Score rates a node: 0 to 100, or any number if scores are normalised.
	Score(pod Pod, node Node) int64
}

// Normalizer is a plugin with the point Normalize.
type Normalizer interface {
	Plugin
	// Normalize brings the scores of all nodes, one a node, to 0 … 100.
	Normalize(pod Pod, nodes Nodes, scores []int64) Status
}

// Rows is a list of nodes that PreFilter narrows down to. Keep one in the plugin
// and Reset it, so that it does not allocate. Nodes are added in the order of
// their row numbers, which is the order of Nodes.
type Rows struct{ rows []uint32 }

// Reset empties the list.
func (r *Rows) Reset() { r.rows = r.rows[:0] }

// Add adds a node.
func (r *Rows) Add(n Node) { r.rows = append(r.rows, n.row) }

// Len returns the number of nodes.
func (r *Rows) Len() int { return len(r.rows) }
