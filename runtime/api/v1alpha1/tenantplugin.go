package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TenantPlugin adds a plugin for the pods of its own namespace. It narrows their nodes and ranks
// them, within what a PluginGrant allows the namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=berth
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.conditions[?(@.type=="RolledOut")].reason`
// +kubebuilder:printcolumn:name="Step",type=integer,JSONPath=`.status.rollout.canary.step`
// +kubebuilder:printcolumn:name="Grant",type=string,JSONPath=`.status.grant`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.module.image`,priority=1
// +kubebuilder:printcolumn:name="Digest",type=string,JSONPath=`.status.digest`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="a plugin's name has at most 63 characters"
type TenantPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TenantPluginSpec `json:"spec"`
	// +optional
	Status PluginStatus `json:"status,omitempty"`
}

// TenantPluginList is a list of TenantPlugins.
//
// +kubebuilder:object:root=true
type TenantPluginList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TenantPlugin `json:"items"`
}

// TenantPluginSpec says which module runs for the pods of the namespace.
//
// +kubebuilder:validation:XValidation:rule="!has(self.replaces) || has(self.mode) && self.mode in ['Shadow', 'Disabled']",message="only a plugin in mode Shadow takes another one's place"
type TenantPluginSpec struct {
	// Where the module comes from.
	Module TenantModule `json:"module"`
	// The plugin's configuration, which the schema in the module's manifest checks.
	//
	// +optional
	Config *Config `json:"config,omitempty"`
	// The weight of the plugin's score, within what the grant allows. Without the field it is 1.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight,omitempty"`
	// What happens to a pod of the namespace if the plugin fails or is not loaded. With Fail it
	// stays pending; with Ignore it is placed as if there were no such plugin. Without the field,
	// failures at scoring are ignored, and all others fail the pod.
	//
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
	// Whether the plugin decides. In Shadow it is tried on live pods of the namespace: the scheduler
	// decides again with it, and counts what would have been different. In Canary a new module or
	// configuration takes over step by step. Disabled stops it.
	//
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// In Shadow, the TenantPlugin of the namespace whose place it takes. Without the field it runs
	// beside all others.
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
}

// TenantModule says where a tenant's module comes from.
type TenantModule struct {
	// An image in an OCI registry: REGISTRY/REPOSITORY:TAG, or REGISTRY/REPOSITORY@sha256:…. The
	// scheduler asks no registry that no grant of the namespace names.
	Image Image `json:"image"`
	// The digest of the module's bytes, as `berth plugin inspect` prints it. Another module is
	// refused.
	//
	// +optional
	Digest Digest `json:"digest,omitempty"`
}
