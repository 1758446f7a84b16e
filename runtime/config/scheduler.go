package config

import (
	"time"

	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// Scheduler is a checked configuration with every default filled in.
type Scheduler struct {
	// Profiles are in file order; there is at least one.
	Profiles []Profile
	// PercentageOfNodesToScore is 0–100, nil if the file has none. Nil means
	// all nodes, 0 kube-scheduler's adaptive formula.
	PercentageOfNodesToScore *int32
	// PodInitialBackoff and PodMaxBackoff bound the wait of a pod that could
	// not be placed; whole seconds, 0 < initial <= max.
	PodInitialBackoff, PodMaxBackoff time.Duration
	// Parallelism is the number of workers, > 0.
	Parallelism int32
	// Extenders are as in the file, checked but not defaulted. Who calls them must
	// also do what kube-scheduler does then: the managed resources with
	// ignoredByScheduler take the place of ignoredResources in the args of
	// NodeResourcesFit (buildExtenders in its scheduler.go).
	Extenders []configv1.Extender

	// LeaderElection and ClientConnection have kube-scheduler's defaults.
	LeaderElection   componentconfigv1alpha1.LeaderElectionConfiguration
	ClientConnection componentconfigv1alpha1.ClientConnectionConfiguration
	// EnableProfiling and EnableContentionProfiling default to true.
	EnableProfiling, EnableContentionProfiling bool
	// DelayCacheUntilActive is as in the file: a standby replica without caches.
	DelayCacheUntilActive bool
}

// Profile is one scheduler name and the plugins behind it.
type Profile struct {
	// SchedulerName is unique and not empty.
	SchedulerName string
	// PercentageOfNodesToScore comes before the file's; nil if the profile has none.
	PercentageOfNodesToScore *int32
	// Points holds the plugins of each extension point in execution order. Keys
	// are the point names of the v1 Plugins struct (preEnqueue … postBind); a
	// point without plugins has no key. Only built plugins are listed.
	Points map[string][]PluginRef
	// Args has an entry for each plugin of Points that takes arguments.
	Args map[string]Args
}

// PluginRef is one plugin at one extension point.
type PluginRef struct {
	Name string
	// Weight is >= 1 at the score point, 0 at all others.
	Weight int32
	// Late says that multiPoint put a plugin of Catalog.Late here, which may not implement the point. Settle decides.
	Late bool
}

// Args are the arguments of one plugin in one profile.
type Args struct {
	// Raw is the JSON object of the file, nil if the file has none.
	Raw []byte
	// Path is the field path, as profiles[0].pluginConfig[2].args; empty if the
	// file has none.
	Path string
	// Position is where that is, as "file:12: profiles[0].pluginConfig[2].args: ", to begin an
	// error with; empty if the file has none.
	Position string
	// Typed is a pointer to the k8s.io/kube-scheduler/config/v1 type of the
	// plugin, as *NodeResourcesFitArgs, with defaults filled in and checked; Raw for a
	// plugin of Catalog.Late.
	Typed any
}
