package v1alpha1

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PluginGrant allows namespaces to attach plugins to their pods with TenantPlugins. One grant
// must allow all that a plugin needs: grants of the same namespace do not add up.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=berth
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Plugins",type=integer,JSONPath=`.status.plugins`
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.spec.namespaces`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type PluginGrant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PluginGrantSpec `json:"spec"`
	// +optional
	Status PluginGrantStatus `json:"status,omitempty"`
}

// PluginGrantList is a list of PluginGrants.
//
// +kubebuilder:object:root=true
type PluginGrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PluginGrant `json:"items"`
}

// PluginGrantSpec says who may attach what.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) || has(self.namespaceSelector)",message="name namespaces, or select them by labels with namespaceSelector; {} selects all"
type PluginGrantSpec struct {
	// The namespaces that the grant is for, by name.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Namespaces []Namespace `json:"namespaces,omitempty"`
	// The namespaces that the grant is for, by their labels, in addition to those by name. An
	// empty selector, {}, selects all namespaces.
	//
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// The modules that may be attached: those that match one of the items.
	//
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Modules []GrantedModules `json:"modules"`
	// The extension points at which a plugin may run. By default these are preFilter, filter,
	// preScore and score, which narrow the nodes of a pod and rank them.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	Points []TenantPoint `json:"points,omitempty"`
	// What plugins may read that tells them of other tenants; nothing by default.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Reads []Read `json:"reads,omitempty"`
	// The feeds that plugins may read, because they tell them of other tenants; nothing by default. An item is the name of a feed, or ends in
	// .* and stands for all names that begin so, as node.* for node.cpu.usage; * stands for all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Feeds []FeedPattern `json:"feeds,omitempty"`
	// The resources, as plural.group, of whose objects plugins may read fields, because they tell them of other tenants; nothing by default.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Objects []string `json:"objects,omitempty"`
	// The keys of labels and annotations, and the resources, that a plugin may read because its configuration names them; none by default. What
	// the module's manifest names itself needs no item, and for feeds there is the field feeds. An item is a name, or ends in * after the
	// slash and stands for all names that begin so, as example.com/* or example.com/gpu-*; * stands for all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	ConfigNames []NamePattern `json:"configNames,omitempty"`
	// The highest weight of a plugin's score.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxWeight int32 `json:"maxWeight,omitempty"`
	// How many plugins each namespace may attach. The oldest ones count first.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxPlugins int32 `json:"maxPlugins,omitempty"`
	// The fuel that all plugins of a namespace may use together for one pod, in one scheduling
	// cycle, besides fuelPerNode.
	//
	// +optional
	// +kubebuilder:default=100000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1125899906842624
	FuelPerPod int64 `json:"fuelPerPod,omitempty"`
	// More of that fuel for each node of the cluster.
	//
	// +optional
	// +kubebuilder:default=150
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	FuelPerNode int64 `json:"fuelPerNode,omitempty"`
	// How many attempts a minute each plugin may cause for pods of a namespace by Pending verdicts,
	// besides those that bind a pod. Pods wait for their turn beyond it. attemptsPerMinute bounds them as well.
	//
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	PendingPerMinute int32 `json:"pendingPerMinute,omitempty"`
	// How many attempts a minute each plugin may cause for pods of a namespace by hints, retryAfter, errors and rejections
	// at preBind, besides those that bind a pod. Pods wait for their turn beyond it. attemptsPerMinute bounds them as well.
	//
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	WakeupsPerMinute int32 `json:"wakeupsPerMinute,omitempty"`
	// How many attempts a minute each plugin may cause for pods of a namespace by asking for their
	// activation, besides those that bind a pod. Pods wait for their turn beyond it. attemptsPerMinute bounds them as well.
	//
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	ActivationsPerMinute int32 `json:"activationsPerMinute,omitempty"`
	// How many attempts a minute all plugins of a namespace may cause for its pods in all of these ways, besides
	// those that bind a pod. Pods wait for their turn beyond it. With the default, larger numbers of one way change nothing.
	//
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	AttemptsPerMinute int32 `json:"attemptsPerMinute,omitempty"`
	// The priority with which pods of a namespace compete at most with pods of others for their turn to be scheduled;
	// nothing means their own. Among themselves, and for preemption, their own counts.
	//
	// +optional
	MaxPriority *int32 `json:"maxPriority,omitempty"`
	// The fuel for starts of each plugin's instances while it is called for 100 pods or events of a
	// namespace: after faults, or because its memory has to be larger. Beyond it the plugin is not called
	// for pods of the namespace for a while.
	//
	// +optional
	// +kubebuilder:default=6000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1125899906842624
	FuelForStarts int64 `json:"fuelForStarts,omitempty"`
	// The memory of one plugin. An instance of it may have half of that.
	//
	// +optional
	// +kubebuilder:default="64Mi"
	MemoryPerPlugin *resource.Quantity `json:"memoryPerPlugin,omitempty"`
	// The memory of all plugins that the grant admits, of all namespaces together. The oldest ones
	// count first. Without the field, only the scheduler's --plugin-memory limits it.
	//
	// +optional
	MemoryTotal *resource.Quantity `json:"memoryTotal,omitempty"`
}

// GrantedModules are modules that may be attached: those that are in one of the repositories and
// fulfil all other fields that are set.
type GrantedModules struct {
	// The repositories of the images, as REGISTRY/REPOSITORY. * stands for one part of a name, or
	// for some of its characters, but not in the registry; there is no **. The scheduler asks no other registry
	// for a tenant.
	//
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Repositories []Repository `json:"repositories"`
	// Who must have published the module.
	//
	// +optional
	Publisher *Publisher `json:"publisher,omitempty"`
	// The digests of images or modules that may be attached.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Digests []Digest `json:"digests,omitempty"`
}

// Repository is REGISTRY/REPOSITORY, with * in the parts after the registry.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/(\*|\*?([a-z0-9._-]+\*?)+))+$`
type Repository string

// repositoryPattern is that of the schema. A registry has no *, because a pattern with
// one could match a registry of somebody else.
var repositoryPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/(\*|\*?([a-z0-9._-]+\*?)+))+$`)

// Check returns what is wrong with a pattern, and what to write; nil if the schema accepts it.
func (r Repository) Check() error {
	if repositoryPattern.MatchString(string(r)) {
		return nil
	}
	text := string(r)
	registry, repository, deep := strings.Cut(text, "/")
	fault := ""
	switch {
	case strings.Contains(text, "://"):
		fault = "a scheme is not part of it"
	case strings.Contains(text, "@"):
		fault = "a digest is not part of it, but belongs in digests"
	case !deep || repository == "":
		fault = "it has no repository after the registry"
	case strings.Contains(registry, "*"):
		fault = "the registry is without *, so that it is nobody else's"
	case strings.Contains(repository, ":"):
		fault = "a tag is not part of it"
	case strings.ContainsFunc(text, unicode.IsUpper):
		fault = "names in registries have no upper case"
	case strings.Contains(repository, "**"):
		fault = "** stands for no more than *, which is one part of the name"
	}
	if fault != "" {
		fault += ": "
	}
	return fmt.Errorf("%q is not a pattern: %swrite REGISTRY/REPOSITORY, with * for a part of the repository", text, fault)
}

// Matches reports whether it is a pattern of the repository.
func (r Repository) Matches(repository string) bool {
	ok, err := path.Match(string(r), repository)
	return ok && err == nil && r.Check() == nil
}

// Publisher is who published a module. A name alone proves nothing, so one of the keys must have
// signed the module.
type Publisher struct {
	// The publisher in the module's manifest, exactly as it is written there.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// The publisher's keys.
	//
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Keys []Key `json:"keys"`
}

// FeedPattern is the name of a feed, or a part of names that ends in .*, or *.
//
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?(\.\*)?|\*)$`
type FeedPattern string

// feedPattern is that of the schema.
var feedPattern = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?(\.\*)?|\*)$`)

// Check returns what is wrong with a pattern, and what to write; nil if the schema accepts it.
func (f FeedPattern) Check() error {
	if feedPattern.MatchString(string(f)) {
		return nil
	}
	return fmt.Errorf("%q is not a pattern of feeds: write a name such as node.cpu.usage, or its beginning as node.*, without a unit", string(f))
}

// Matches reports whether it is a pattern of a feed's name.
func (f FeedPattern) Matches(feed string) bool {
	beginning, open := strings.CutSuffix(string(f), "*")
	return f.Check() == nil && (string(f) == feed || open && strings.HasPrefix(feed, beginning))
}

// NamePattern is a key of labels or annotations or a resource, or the beginning of such names that ends in * after the slash, or *.
//
// +kubebuilder:validation:MaxLength=318
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?|[a-z0-9]([a-z0-9.-]*[a-z0-9])?/([A-Za-z0-9][A-Za-z0-9._-]*)?\*|\*)$`
type NamePattern string

// namePattern is that of the schema. A * comes after the slash, because the domain would be somebody else's.
var namePattern = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?|[a-z0-9]([a-z0-9.-]*[a-z0-9])?/([A-Za-z0-9][A-Za-z0-9._-]*)?\*|\*)$`)

// Check returns what is wrong with a pattern, and what to write; nil if the schema accepts it.
func (n NamePattern) Check() error {
	if namePattern.MatchString(string(n)) {
		return nil
	}
	return fmt.Errorf("%q is not a pattern of names: write a name such as example.com/pool, or its beginning as example.com/*", string(n))
}

// Matches reports whether it is a pattern of a name.
func (n NamePattern) Matches(name string) bool {
	beginning, open := strings.CutSuffix(string(n), "*")
	return n.Check() == nil && (string(n) == name || open && strings.HasPrefix(name, beginning))
}

// TenantPoint is an extension point at which a tenant's plugin may run.
//
// +kubebuilder:validation:Enum=preEnqueue;preFilter;filter;preScore;score;reserve;permit;preBind;postBind
type TenantPoint string

// Read is a kind of data that tells a plugin of other tenants.
//
// +kubebuilder:validation:Enum=ports;images;generations;nodeObjects;volumeEvents;namespaces;published;seed
type Read string

// What tells a plugin of other tenants.
const (
	// ReadPorts are the host ports in use on nodes.
	ReadPorts Read = "ports"
	// ReadImages are the images on nodes.
	ReadImages Read = "images"
	// ReadGenerations count the changes of nodes.
	ReadGenerations Read = "generations"
	// ReadNodeObjects are whole node objects.
	ReadNodeObjects Read = "nodeObjects"
	// ReadVolumeEvents are events of volumes and claims, whose names tell of other tenants.
	ReadVolumeEvents Read = "volumeEvents"
	// ReadNamespaces are the names and labels of namespaces.
	ReadNamespaces Read = "namespaces"
	// ReadPublished are values that other plugins publish.
	ReadPublished Read = "published"
	// ReadSeed is the random number of a cycle, from which the number of earlier attempts follows.
	ReadSeed Read = "seed"
)

// PluginGrantStatus is what the scheduler that leads says of a grant.
type PluginGrantStatus struct {
	// Ready is True if the grant is in force. Otherwise reason and message say exactly why not.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the object that the status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many TenantPlugins the grant admits.
	//
	// +optional
	Plugins int32 `json:"plugins,omitempty"`
}
