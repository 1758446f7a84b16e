package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// PluginObject is a SchedulerPlugin, or a TenantPlugin if it has a namespace, without what only one of
// the two has.
type PluginObject struct {
	Namespace, Name string
	ResourceVersion string
	Annotations     map[string]string
	// Version is the one that the object names, without a digest unless the object pins one.
	Version      v1alpha1.PluginVersion
	Generation   int64
	Mode         v1alpha1.Mode
	WhenDisabled v1alpha1.WhenDisabled
	// Ignores is true if pods never wait for the plugin by its failure policy.
	Ignores bool
	Rollout *v1alpha1.Rollout
	Status  v1alpha1.PluginStatus
}

// String is the plugin's name in profiles.
func (o *PluginObject) String() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// kind is the object's.
func (o *PluginObject) kind() string {
	if o.Namespace == "" {
		return v1alpha1.KindSchedulerPlugin
	}
	return v1alpha1.KindTenantPlugin
}

// plugins returns a client of berth.dev.
func (v *Visitor) plugins() (rest.Interface, error) {
	client, err := rest.HTTPClientFor(v.config)
	if err != nil {
		return nil, err
	}
	return newPluginClient(v.config, client, v1alpha1.AddToScheme)
}

// Plugin returns an object; namespace is empty for a SchedulerPlugin.
//
// # Errors
//
// It does not exist, or the user may not read it.
func (v *Visitor) Plugin(ctx context.Context, namespace, name string) (*PluginObject, error) {
	client, err := v.plugins()
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		var p v1alpha1.SchedulerPlugin
		if err := client.Get().Resource(v1alpha1.Plural(v1alpha1.KindSchedulerPlugin)).Name(name).Do(ctx).Into(&p); err != nil {
			return nil, notServed(err)
		}
		return platformObject(&p), nil
	}
	var p v1alpha1.TenantPlugin
	if err := client.Get().Resource(v1alpha1.Plural(v1alpha1.KindTenantPlugin)).Namespace(namespace).Name(name).Do(ctx).Into(&p); err != nil {
		return nil, notServed(err)
	}
	return tenantObject(&p), nil
}

// Plugins returns all objects.
//
// # Errors
//
// The user may not list them.
func (v *Visitor) Plugins(ctx context.Context) (out []*PluginObject, err error) {
	client, err := v.plugins()
	if err != nil {
		return nil, err
	}
	var platform v1alpha1.SchedulerPluginList
	if err := client.Get().Resource(v1alpha1.Plural(v1alpha1.KindSchedulerPlugin)).Do(ctx).Into(&platform); err != nil {
		return nil, notServed(err)
	}
	for i := range platform.Items {
		out = append(out, platformObject(&platform.Items[i]))
	}
	var tenants v1alpha1.TenantPluginList
	if err := client.Get().Resource(v1alpha1.Plural(v1alpha1.KindTenantPlugin)).Do(ctx).Into(&tenants); err != nil {
		return nil, notServed(err)
	}
	for i := range tenants.Items {
		out = append(out, tenantObject(&tenants.Items[i]))
	}
	return out, nil
}

// Change is an operation of a JSON patch (RFC 6902).
type Change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// ChangePlugin patches an object, unless it has changed since it was read. manager is its field manager.
//
// # Errors
//
// The API server refuses the patch, or the user may not write the object.
func (v *Visitor) ChangePlugin(ctx context.Context, o *PluginObject, manager string, changes ...Change) error {
	client, err := v.plugins()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(append([]Change{{Op: "test", Path: "/metadata/resourceVersion", Value: o.ResourceVersion}}, changes...))
	if err != nil {
		return err
	}
	request := client.Patch(types.JSONPatchType).Resource(v1alpha1.Plural(o.kind())).Name(o.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: manager}, metav1.ParameterCodec).Body(patch)
	if o.Namespace != "" {
		request.Namespace(o.Namespace)
	}
	return request.Do(ctx).Error()
}

// notServed says what to do if the kinds are not there.
func notServed(err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w (kubectl get schedulerplugins,tenantplugins -A lists them; kubectl apply -f deploy/crds installs their kinds)", err)
	}
	return err
}

func platformObject(p *v1alpha1.SchedulerPlugin) *PluginObject {
	v := v1alpha1.PluginVersion{Module: p.Spec.Module, Config: p.Spec.Config}
	return &PluginObject{
		Name: p.Name, ResourceVersion: p.ResourceVersion, Annotations: p.Annotations, Version: v, Generation: p.Generation,
		Mode: p.Spec.Mode, WhenDisabled: p.Spec.WhenDisabled, Ignores: p.Spec.FailurePolicy == v1alpha1.Ignore,
		Rollout: p.Spec.Rollout, Status: p.Status,
	}
}

func tenantObject(p *v1alpha1.TenantPlugin) *PluginObject {
	v := v1alpha1.PluginVersion{Module: v1alpha1.ModuleSource{Image: p.Spec.Module.Image, Digest: p.Spec.Module.Digest}, Config: p.Spec.Config}
	return &PluginObject{
		Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion, Annotations: p.Annotations,
		Version: v, Generation: p.Generation,
		Mode: p.Spec.Mode, WhenDisabled: p.Spec.WhenDisabled, Ignores: p.Spec.FailurePolicy == v1alpha1.Ignore,
		Rollout: p.Spec.Rollout, Status: p.Status,
	}
}
