package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The modes of a plugin. The empty value means Enforce.
const (
	ModeEnforce  Mode = "Enforce"
	ModeCanary   Mode = "Canary"
	ModeShadow   Mode = "Shadow"
	ModeDisabled Mode = "Disabled"
)

// Percent is a part of something, such as 0.5% or 20%.
//
// +kubebuilder:validation:MaxLength=8
// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})(\.[0-9]{1,3})?%$`
type Percent string

// Duration is a time span such as 30s, 10m or 1h30m.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="write a duration such as 30s or 10m"
type Duration string

// Rollout says how a new module or configuration takes over in mode Canary: step by step, for a
// growing part of the pods. All pods of a Deployment or another controller are in the same part,
// and a pod that the new version decides for stays with it in later steps.
//
// +kubebuilder:validation:XValidation:rule="!has(self.steps) || self.steps.map(s, s.percent).isSorted() && self.steps.all(i, self.steps.exists_one(j, j.percent == i.percent))",message="each step needs a higher percent than the one before"
type Rollout struct {
	// The steps, each with a higher percentage than the one before. After the last one the new
	// version decides for all pods. Without the field these are 1, 10 and 50 percent.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Steps []RolloutStep `json:"steps,omitempty"`
	// What the new version may not exceed. If it does, the stable version decides for all pods
	// again, and the new one is not tried again until the object changes. So it is, too, as soon as
	// its calls are stopped after faults.
	//
	// +optional
	Bounds *RolloutBounds `json:"bounds,omitempty"`
	// The rollout stays at its step. Bounds still hold.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`
	// How long the old version stays compiled after the last step; 10m by default.
	//
	// +optional
	KeepOld Duration `json:"keepOld,omitempty"`
}

// RolloutStep is a part of the pods.
type RolloutStep struct {
	// The part of the pods, by their controllers, that the new version decides for.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	Percent int32 `json:"percent"`
	// How long the step takes at least; 5m by default.
	//
	// +optional
	Pause Duration `json:"pause,omitempty"`
	// How many attempts the new version must have decided at this step; 300 by default.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	MinAttempts int32 `json:"minAttempts,omitempty"`
}

// RolloutBounds are bounds of what the new version does in a step. Defaults compare it with the stable version, if there is one.
type RolloutBounds struct {
	// The part of its attempts in which it faulted. By default this may be 0.1% more than of the
	// stable version's.
	//
	// +optional
	Faults Percent `json:"faults,omitempty"`
	// The part of its attempts that left the pod pending after it had rejected nodes. By default,
	// it may leave 10% of the pods pending that the stable version places.
	//
	// +optional
	Pending Percent `json:"pending,omitempty"`
	// The fuel of its calls for each node or pod in them. By default, above 100, it is at most 4
	// times that of the stable version for a node and for a call.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	FuelPerRow int64 `json:"fuelPerRow,omitempty"`
	// The time by the clock that its calls for one pod take in 99 of 100 attempts. There is no bound
	// by default.
	//
	// +optional
	P99 Duration `json:"p99,omitempty"`
	// The part of the decisions for other pods that would be different with it, but for nodes of
	// the same score; 50% by default. With the field, a step lasts until decisions can be compared.
	//
	// +optional
	Changed Percent `json:"changed,omitempty"`
}

// RolloutStatus says which version of a plugin decides. Berth reads it, so that the next leader
// goes on where the last one stopped.
type RolloutStatus struct {
	// The version that decides for all pods that no canary decides for.
	//
	// +optional
	Stable *PluginVersion `json:"stable,omitempty"`
	// The version that decides for a part of the pods.
	//
	// +optional
	Canary *CanaryStatus `json:"canary,omitempty"`
	// The version that went beyond a bound, and is not tried again until the object changes.
	//
	// +optional
	Failed *FailedVersion `json:"failed,omitempty"`
	// The version that was stable before, and until when it stays compiled.
	//
	// +optional
	Old *OldVersion `json:"old,omitempty"`
	// What happened, the latest last.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	History []RolloutChange `json:"history,omitempty"`
}

// PluginVersion is a module with its configuration.
type PluginVersion struct {
	// The module as the object named it, with the digest of its image's manifest.
	Module ModuleSource `json:"module"`
	// The configuration.
	//
	// +optional
	Config *Config `json:"config,omitempty"`
	// The digest of the module's bytes. No others run as this version.
	Digest Digest `json:"digest"`
}

// CanaryStatus is a version at a step of its rollout.
type CanaryStatus struct {
	PluginVersion `json:",inline"`
	// The number of the step, from 1.
	Step int32 `json:"step"`
	// The part of the pods that it decides for.
	Percent int32 `json:"percent"`
	// When the step began.
	Since metav1.Time `json:"since"`
}

// FailedVersion is a version that went beyond a bound.
type FailedVersion struct {
	PluginVersion `json:",inline"`
	// The generation of the object that named it.
	Generation int64 `json:"generation"`
	// The bound.
	//
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// What was expected and what was observed.
	//
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`
	// When it was.
	At metav1.Time `json:"at"`
}

// OldVersion is a version that was stable.
type OldVersion struct {
	PluginVersion `json:",inline"`
	// Until when it stays compiled.
	Until metav1.Time `json:"until"`
}

// RolloutChange is something that happened in a rollout.
type RolloutChange struct {
	// When it was.
	At metav1.Time `json:"at"`
	// Started, Advanced, Finished, SteppedBack or Ended.
	//
	// +kubebuilder:validation:MaxLength=64
	What string `json:"what"`
	// The version that it happened to.
	Digest Digest `json:"digest"`
	// The part of the pods that the version decides for since.
	Percent int32 `json:"percent"`
	// Why it happened, and what was observed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`
}
