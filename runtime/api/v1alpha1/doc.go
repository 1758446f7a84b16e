// Package v1alpha1 has the kinds of berth.dev/v1alpha1 by which a platform team and its tenants
// attach plugins through the Kubernetes API. Comments of fields are what kubectl explain prints.
// The manifests in deploy/crds are generated from this package.
//
// +kubebuilder:object:generate=true
// +groupName=berth.dev
package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The generator is no part of go.mod. It runs at a pinned version.
//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0 object crd:maxDescLen=1000 paths=. output:crd:dir=../../../deploy/crds

// GroupVersion returns berth.dev/v1alpha1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "berth.dev", Version: "v1alpha1"}
}

// The kinds.
const (
	KindSchedulerPlugin = "SchedulerPlugin"
	KindPluginGrant     = "PluginGrant"
	KindTenantPlugin    = "TenantPlugin"
)

// Plural returns the name of a kind in URLs.
func Plural(kind string) string { return strings.ToLower(kind) + "s" }

// AddToScheme registers the kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(),
		&SchedulerPlugin{}, &SchedulerPluginList{},
		&PluginGrant{}, &PluginGrantList{},
		&TenantPlugin{}, &TenantPluginList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
