package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SchedulerPlugin adds a plugin to all profiles of Berth. The platform team writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=berth
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.conditions[?(@.type=="RolledOut")].reason`
// +kubebuilder:printcolumn:name="Step",type=integer,JSONPath=`.status.rollout.canary.step`
// +kubebuilder:printcolumn:name="Order",type=integer,JSONPath=`.spec.order`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.module.image`,priority=1
// +kubebuilder:printcolumn:name="Digest",type=string,JSONPath=`.status.digest`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="a plugin's name has at most 63 characters"
type SchedulerPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SchedulerPluginSpec `json:"spec"`
	// +optional
	Status PluginStatus `json:"status,omitempty"`
}

// SchedulerPluginList is a list of SchedulerPlugins.
//
// +kubebuilder:object:root=true
type SchedulerPluginList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SchedulerPlugin `json:"items"`
}

// SchedulerPluginSpec says which module runs, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.replaces) || has(self.mode) && self.mode in ['Shadow', 'Disabled']",message="only a plugin in mode Shadow takes another one's place"
type SchedulerPluginSpec struct {
	// Where the module comes from.
	Module ModuleSource `json:"module"`
	// What the module must fulfil beside the scheduler's own verification policy.
	//
	// +optional
	Verification *Verification `json:"verification,omitempty"`
	// The plugin's configuration, which the schema in the module's manifest checks.
	//
	// +optional
	Config *Config `json:"config,omitempty"`
	// The plugin sees, judges and changes only pods of these namespaces. Without the field it
	// applies to all pods.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Namespaces []Namespace `json:"namespaces,omitempty"`
	// The extension points at which the plugin runs. Without the field it runs at all that its
	// manifest declares.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Points []Point `json:"points,omitempty"`
	// The weight of the plugin's score.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight,omitempty"`
	// At each extension point, plugins of a lower order run first; those of equal order run by
	// name. All run after the plugins of the scheduler's configuration, and before TenantPlugins.
	//
	// +optional
	Order int32 `json:"order,omitempty"`
	// What happens to a pod if the plugin fails or is not loaded. Without the field, failures at
	// scoring, unreserve and postBind are ignored, and all others fail the pod.
	//
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
	// Whether the plugin decides. In Shadow it is tried on live pods: the scheduler decides again
	// with it, and counts what would have been different. In Canary a new module or
	// configuration takes over step by step. Disabled stops it.
	//
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// In Shadow, the plugin of the profiles whose place it takes: a SchedulerPlugin or one of the
	// scheduler's configuration. Without the field it runs beside all others.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Replaces string `json:"replaces,omitempty"`
	// How a new version takes over in Canary.
	//
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`
	// Whether pods wait for the plugin while it is Disabled. By default they wait for a plugin that
	// can reject nodes, and not for one that only scores them.
	//
	// +optional
	WhenDisabled WhenDisabled `json:"whenDisabled,omitempty"`
	// What the plugin may do besides answering calls; nothing by default.
	//
	// +optional
	Grants *Directives `json:"grants,omitempty"`
	// What the plugin may use. Fields that are left out have the scheduler's defaults.
	//
	// +optional
	Limits *Limits `json:"limits,omitempty"`
}

// ModuleSource says where a module comes from.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.url)",message="name the module by image or by url, not by both"
// +kubebuilder:validation:XValidation:rule="!has(self.url) || has(self.digest)",message="a url needs the module's digest, as berth plugin inspect prints it: a server can replace the file"
type ModuleSource struct {
	// An image in an OCI registry: REGISTRY/REPOSITORY:TAG, or REGISTRY/REPOSITORY@sha256:….
	//
	// +optional
	Image Image `json:"image,omitempty"`
	// The module's address on a web server.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^https://[^/?#@]+/[^#]*$`
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// The digest of the module's bytes, as `berth plugin inspect` prints it. Another module is
	// refused.
	//
	// +optional
	Digest Digest `json:"digest,omitempty"`
}

// Verification says what a module must fulfil.
//
// +kubebuilder:validation:XValidation:rule="!has(self.least) || self.least <= self.keys.size()",message="least is more than there are keys"
type Verification struct {
	// The keys whose signatures count.
	//
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Keys []Key `json:"keys"`
	// How many of the keys must have signed the module; one by default.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Least int32 `json:"least,omitempty"`
	// The publisher that the module's manifest must name.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Publisher string `json:"publisher,omitempty"`
}

// Mode says whether a plugin decides: Enforce (default), Canary, Shadow, or Disabled.
//
// +kubebuilder:validation:Enum=Enforce;Canary;Shadow;Disabled
type Mode string

// WhenDisabled says what happens to the pods of a plugin that is Disabled.
//
// +kubebuilder:validation:Enum=Hold;Release
type WhenDisabled string

// What happens to the pods of a plugin that is Disabled.
const (
	// Hold keeps them pending.
	Hold WhenDisabled = "Hold"
	// Release places them as if there were no such plugin.
	Release WhenDisabled = "Release"
)

// Point is an extension point by its name in manifests.
//
// +kubebuilder:validation:Enum=preEnqueue;queueSort;preFilter;filter;postFilter;preScore;score;reserve;permit;preBind;bind;postBind
type Point string

// Directives are what a plugin may do besides answering calls.
type Directives struct {
	// Prefixes of annotations that it may write on pods, such as example.com/.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=317
	Annotations []string `json:"annotations,omitempty"`
	// Prefixes of labels that it may write on pods.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=317
	Labels []string `json:"labels,omitempty"`
	// It may nominate a node for a pod that fits nowhere.
	//
	// +optional
	Nominate bool `json:"nominate,omitempty"`
	// It may bind pods itself, to the chosen node.
	//
	// +optional
	Bind bool `json:"bind,omitempty"`
	// It may allow pods that it made wait, and reject waiting pods.
	//
	// +optional
	Waiting bool `json:"waiting,omitempty"`
	// It may have unschedulable pods tried again.
	//
	// +optional
	Activate bool `json:"activate,omitempty"`
	// The resources, as plural.group, of whose objects it may read fields.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Objects []string `json:"objects,omitempty"`
}
