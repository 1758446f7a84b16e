package v1alpha1

import (
	"strings"

	"github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Config is the configuration of a plugin.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:XPreserveUnknownFields
type Config struct {
	runtime.RawExtension `json:",inline"`
	// Omitted stands for Raw if who read the object did not keep it.
	Omitted *OmittedConfig `json:"-"`
}

// OmittedConfig is what is known of a configuration that was read and not kept.
type OmittedConfig struct {
	// Digest is that of Raw.
	Digest Digest
	// Size is that of Raw, in bytes.
	Size int
}

// Omit forgets Raw if it has more than these bytes.
func (c *Config) Omit(most int) {
	if c != nil && c.Omitted == nil && len(c.Raw) > most {
		c.Omitted, c.Raw = &OmittedConfig{Digest: Digest(digest.FromBytes(c.Raw)), Size: len(c.Raw)}, nil
	}
}

// Size is that of Raw in bytes, also if Raw was omitted.
func (c *Config) Size() int {
	switch {
	case c == nil:
		return 0
	case c.Omitted != nil:
		return c.Omitted.Size
	}
	return len(c.Raw)
}

// Digest is "sha256:" and 64 hexadecimal digits.
//
// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
// +kubebuilder:validation:MaxLength=71
type Digest string

// Image is an image in an OCI registry.
//
// +kubebuilder:validation:XValidation:rule="!self.startsWith('oci:') && !self.startsWith('oci-archive:')",message="oci: and oci-archive: name files of the scheduler; write REGISTRY/REPOSITORY:TAG"
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`
type Image string

// maxImage is the maximum length of an Image.
const maxImage = 512

// Unpinned returns the image without the digest of its manifest.
func (i Image) Unpinned() Image {
	name, _, _ := strings.Cut(string(i), "@")
	return Image(name)
}

// Pinned returns the image with the digest of its manifest. The tag stays, for readers. An empty digest,
// and a name that would become too long, change nothing.
func (i Image) Pinned(digest Digest) Image {
	out := i.Unpinned() + "@" + Image(digest)
	if i == "" || digest == "" || len(out) > maxImage {
		return i
	}
	return out
}

// Namespace is the name of a namespace.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
type Namespace string

// FailurePolicy says what happens to a pod if the plugin fails, or is not loaded.
//
// +kubebuilder:validation:Enum=Fail;Ignore
type FailurePolicy string

// The failure policies.
const (
	// Fail keeps the pod pending.
	Fail FailurePolicy = "Fail"
	// Ignore places the pod as if there were no such plugin.
	Ignore FailurePolicy = "Ignore"
)

// Key is a public key whose signatures are accepted.
type Key struct {
	// Name of the key in messages.
	//
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// The public key in PEM, ECDSA on P-256 or Ed25519, as `berth plugin keygen` or
	// `cosign generate-key-pair` writes it.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.startsWith('-----BEGIN PUBLIC KEY-----')",message="write a public key in PEM, which begins with -----BEGIN PUBLIC KEY-----"
	PublicKey string `json:"publicKey"`
	// After this time the key admits no module.
	//
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
}

// PluginStatus is what the scheduler that leads says of a plugin. Berth reads only rollout: editing
// anything else changes nothing, and the scheduler overwrites it.
type PluginStatus struct {
	// Ready is True if the plugin runs. Otherwise reason and message say exactly why not. RolledOut is True if the
	// version that the object names decides for all pods, and Unknown while that is open.
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
	// The digest of the module that runs.
	//
	// +optional
	Digest string `json:"digest,omitempty"`
	// The version in the manifest of the module that runs.
	//
	// +optional
	Version string `json:"version,omitempty"`
	// The names of the keys that signed the module.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Signers []string `json:"signers,omitempty"`
	// The PluginGrant that admits a TenantPlugin.
	//
	// +optional
	Grant string `json:"grant,omitempty"`
	// What the grant allows the module that runs.
	//
	// +optional
	Limits *GrantedLimits `json:"limits,omitempty"`
	// The last lines that the plugin of a TenantPlugin logged, the oldest first, some minutes ago: they are written with
	// other changes, and alone at most every two minutes.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	Log []string `json:"log,omitempty"`
	// Since when this module runs.
	//
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// What came of a plugin in Shadow, or of a canary at its step, some time ago: it is written at
	// most every 30 seconds.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Observed string `json:"observed,omitempty"`
	// Which version decides for which part of the pods.
	//
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
}

// The types of conditions.
const (
	// Ready is that of all kinds.
	Ready = "Ready"
	// RolledOut is that of plugins.
	RolledOut = "RolledOut"
)
