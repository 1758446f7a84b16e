package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits of a plugin. docs/plugins.md has their defaults.
type Limits struct {
	// The fuel of a call: a fixed part.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1125899906842624
	FuelPerCall *int64 `json:"fuelPerCall,omitempty"`
	// The fuel of a call for each node or pod in it.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	FuelPerRow *int64 `json:"fuelPerRow,omitempty"`
	// The fuel of all calls in one scheduling cycle.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1125899906842624
	FuelPerCycle *int64 `json:"fuelPerCycle,omitempty"`
	// More of that fuel for each node of the cluster.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	FuelPerCycleRow *int64 `json:"fuelPerCycleRow,omitempty"`
	// The fuel to start an instance.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1125899906842624
	FuelStart *int64 `json:"fuelStart,omitempty"`
	// The fuel to restart instances after faults, over the last 100 cycles.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1125899906842624
	FuelRestarts *int64 `json:"fuelRestarts,omitempty"`
	// The longest time of a call by the clock, such as 2s.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1ms')",message="write a duration of at least 1ms, such as 500ms or 2s"
	Deadline Duration `json:"deadline,omitempty"`
	// The memory of one instance, without the data that the host puts there.
	//
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// The memory of all instances of the plugin.
	//
	// +optional
	MemoryTotal *resource.Quantity `json:"memoryTotal,omitempty"`
	// How many calls of functions may be in one another.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Depth *int64 `json:"depth,omitempty"`
	// How many elements all tables have together.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	TableElements *int64 `json:"tableElements,omitempty"`
	// How many functions the module may define.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Functions *int64 `json:"functions,omitempty"`
	// How many globals the module may have.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Globals *int64 `json:"globals,omitempty"`
	// How many locals a function may have, parameters included.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50000
	Locals *int64 `json:"locals,omitempty"`
	// How deep blocks may be nested.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50000
	Nesting *int64 `json:"nesting,omitempty"`
	// The size of the module.
	//
	// +optional
	ModuleSize *resource.Quantity `json:"moduleSize,omitempty"`
	// The size of the configuration.
	//
	// +optional
	ConfigSize *resource.Quantity `json:"configSize,omitempty"`
	// The size of what the plugin keeps in the state of a scheduling cycle.
	//
	// +optional
	StateSize *resource.Quantity `json:"stateSize,omitempty"`
	// The size of the reasons that a call returns.
	//
	// +optional
	ReasonSize *resource.Quantity `json:"reasonSize,omitempty"`
	// The size of the directives that a call returns, patches included.
	//
	// +optional
	DirectiveSize *resource.Quantity `json:"directiveSize,omitempty"`
	// The size of what the plugin logs during one attempt. More is dropped.
	//
	// +optional
	LogSize *resource.Quantity `json:"logSize,omitempty"`
}

// GrantedLimits are the limits of a TenantPlugin, as in its PluginGrant.
type GrantedLimits struct {
	// The fuel that all plugins of the namespace may use together for one pod, besides fuelPerNode.
	FuelPerPod int64 `json:"fuelPerPod"`
	// More of that fuel for each node of the cluster.
	FuelPerNode int64 `json:"fuelPerNode"`
	// The fuel for starts of instances while the plugin is called for 100 pods or events of the namespace.
	//
	// +optional
	FuelForStarts int64 `json:"fuelForStarts,omitempty"`
	// The memory of the plugin. An instance may have half of that.
	MemoryPerPlugin resource.Quantity `json:"memoryPerPlugin"`
	// How many attempts a minute all plugins of the namespace may cause for its pods.
	//
	// +optional
	AttemptsPerMinute int32 `json:"attemptsPerMinute,omitempty"`
	// The priority with which pods of the namespace compete at most with pods of others for their turn.
	//
	// +optional
	MaxPriority *int32 `json:"maxPriority,omitempty"`
}
