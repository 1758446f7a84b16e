package config

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// Scheduler is a validated configuration with all defaults set.
type Scheduler struct {
	// Profiles are in file order; there is at least one.
	Profiles []Profile
	// PercentageOfNodesToScore is 0–100, nil if the file does not set it. nil means all nodes,
	// 0 means kube-scheduler's adaptive formula.
	PercentageOfNodesToScore *int32
	// PodInitialBackoff and PodMaxBackoff bound the backoff of a pod that could not be placed;
	// whole seconds, 0 < initial <= max.
	PodInitialBackoff, PodMaxBackoff time.Duration
	// Parallelism is the number of workers, > 0.
	Parallelism int32
	// Extenders are as in the file, validated but without defaults. The caller must also do what
	// kube-scheduler's buildExtenders does: managed resources with ignoredByScheduler replace
	// ignoredResources in the args of NodeResourcesFit.
	Extenders []configv1.Extender

	// LeaderElection and ClientConnection have kube-scheduler's defaults.
	LeaderElection   componentconfigv1alpha1.LeaderElectionConfiguration
	ClientConnection componentconfigv1alpha1.ClientConnectionConfiguration
	// EnableProfiling and EnableContentionProfiling default to true.
	EnableProfiling, EnableContentionProfiling bool
	// DelayCacheUntilActive is as in the file: if true, a standby replica keeps no caches.
	DelayCacheUntilActive bool

	broken bool // see Load
}

// Profile is one scheduler name and the plugins behind it.
type Profile struct {
	// SchedulerName is unique and not empty.
	SchedulerName string
	// PercentageOfNodesToScore overrides the file's; nil if the profile does not set it.
	PercentageOfNodesToScore *int32
	// Points has the plugins of each extension point in execution order. Keys are the point
	// names of the v1 Plugins struct (preEnqueue … postBind); a point without plugins has no
	// key. Only built-in plugins are listed.
	Points map[string][]PluginRef
	// Args has an entry for each plugin of Points that takes arguments.
	Args map[string]Args
	// AllowUnenforced are features that pods may use although no enabled plugin enforces them:
	// the profile leaves them to others.
	AllowUnenforced []string

	source *source
}

// PluginRef is one plugin at one extension point.
type PluginRef struct {
	Name string
	// Weight is >= 1 at the score point, 0 at all others.
	Weight int32
	// Late is true if multiPoint put a module, or a plugin of Catalog.Late, here; it may not implement
	// the point. Settle decides.
	Late bool
}

// Args are the arguments of one plugin in one profile.
type Args struct {
	// Raw is the JSON object in the file, nil if absent.
	Raw []byte
	// Path is the field path, such as profiles[0].pluginConfig[2].args; empty if absent.
	Path string
	// Position is the file, line and path, such as "file:12: profiles[0].pluginConfig[2].args:
	// ", to begin an error with; empty if absent.
	Position string
	// Typed is a pointer to the plugin's type in k8s.io/kube-scheduler/config/v1, such as
	// *NodeResourcesFitArgs, with defaults, validated; nil for a module and for a plugin of Catalog.Late.
	Typed runtime.Object
	// Spec is set for a plugin that is a module: its args in the file, validated.
	Spec *v1alpha1.WasmPluginArgs
	// Module is the module of Spec once Resolve has loaded it, or one that no file names.
	Module Module
}

// Module is a loaded module.
type Module interface {
	// Points returns the extension points of a profile that it implements.
	Points() []string
	// Args returns what a file has to say to get the same plugin. Secrets in a URL are left out.
	Args() *v1alpha1.WasmPluginArgs
}
