package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KindVerificationPolicy is the kind of a verification policy, which is a file.
const KindVerificationPolicy = "VerificationPolicy"

// VerificationPolicy is the file that says which modules may run:
//
//	apiVersion: berth.dev/v1alpha1
//	kind: VerificationPolicy
//	keys:
//	- name: example-2026
//	  publicKey: |
//	    -----BEGIN PUBLIC KEY-----
//	    …
//	  notAfter: 2027-06-30T00:00:00Z   # new digests are not admitted by it after that
//	publishers:
//	- name: Example                    # publisher in the manifest
//	  keys: [example-2026]
//	  repositories: [ghcr.io/example/*]
//	indexes:                           # whom to believe what plugins there are
//	- repositories: [ghcr.io/example/index]
//	  signatures: {keys: [example-2026]}
//	revoked:                           # what never runs, whatever else holds
//	  keys: [example-2025]
//	  digests: [sha256:…]              # of a module or an image
//	require:
//	  allOf:
//	  - publisher: Example
//	  - minimumVersion: {plugin: rack-aware, version: 1.2.0}
//	  - anyOf:
//	    - signatures: {keys: [security, example-2026], least: 2}
//	    - digests: [sha256:…]
//
// +kubebuilder:object:generate=false
type VerificationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	Keys            []Key              `json:"keys"`
	Publishers      []TrustedPublisher `json:"publishers,omitempty"`
	Indexes         []TrustedIndex     `json:"indexes,omitempty"`
	Revoked         Revoked            `json:"revoked"`
	Require         Requirement        `json:"require"`
}

// TrustedPublisher says whose signatures are a publisher's, and where it publishes. Without repositories it may publish anywhere.
//
// +kubebuilder:object:generate=false
type TrustedPublisher struct {
	Name         string       `json:"name"`
	Keys         []string     `json:"keys"`
	Repositories []Repository `json:"repositories,omitempty"`
}

// TrustedIndex says who signs an index of plugins, and where it is.
//
// +kubebuilder:object:generate=false
type TrustedIndex struct {
	Repositories []Repository `json:"repositories,omitempty"`
	Signatures   Signatures   `json:"signatures"`
}

// Revoked names what never runs: what one of the keys signed, and modules or images with one of the digests.
//
// +kubebuilder:object:generate=false
type Revoked struct {
	Keys    []string `json:"keys,omitempty"`
	Digests []Digest `json:"digests,omitempty"`
}

// Requirement has exactly one of its fields set, but for Least.
//
// +kubebuilder:object:generate=false
type Requirement struct {
	AllOf []Requirement `json:"allOf,omitempty"`
	AnyOf []Requirement `json:"anyOf,omitempty"`
	// Least is how many of AnyOf must hold; default 1.
	Least          int             `json:"least,omitempty"`
	Publisher      string          `json:"publisher,omitempty"`
	Signatures     *Signatures     `json:"signatures,omitempty"`
	Digests        []Digest        `json:"digests,omitempty"`
	MinimumVersion *MinimumVersion `json:"minimumVersion,omitempty"`
}

// Signatures requires those of some keys, by their names.
//
// +kubebuilder:object:generate=false
type Signatures struct {
	Keys []string `json:"keys"`
	// Least is how many of the keys must have signed; default 1.
	Least int `json:"least,omitempty"`
}

// MinimumVersion is the least version of a plugin by its name in the manifest.
//
// +kubebuilder:object:generate=false
type MinimumVersion struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
}
