package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/berth-scheduler/berth/test/internal/load"
)

// Objects creates and changes objects of any kind, given as YAML.
type Objects struct {
	client    dynamic.Interface
	mapper    meta.RESTMapper
	namespace string
	dryRun    []string
}

// Objects returns an Objects that acts as Admin. namespace is the default for objects without
// one.
func (c *Cluster) Objects(namespace string) (*Objects, error) { return c.ObjectsOf(Admin, namespace) }

// ObjectsOf is Objects for another user.
func (c *Cluster) ObjectsOf(user User, namespace string) (*Objects, error) {
	client, err := dynamic.NewForConfig(c.RESTConfig(user))
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(c.admin.Discovery())
	if err != nil {
		return nil, err
	}
	return &Objects{client: client, mapper: restmapper.NewDiscoveryRESTMapper(groups), namespace: namespace}, nil
}

// DryRun returns an Objects whose Apply changes nothing, but returns the API server's errors.
func (o *Objects) DryRun() *Objects {
	dry := *o
	dry.dryRun = []string{metav1.DryRunAll}
	return &dry
}

// Apply creates or updates the objects of YAML documents: new ones are created, others changed
// where the document has a value. Status, which controllers would write, is written as well.
// Unknown and duplicate fields are rejected.
func (o *Objects) Apply(ctx context.Context, documents []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue // an empty document
		}
		if err := o.apply(ctx, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

func (o *Objects) apply(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := o.resource(object.GroupVersionKind().GroupKind(), object.GetNamespace())
	if err != nil {
		return err
	}
	document, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	strict := metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun}
	have, err := resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: strict.FieldValidation, DryRun: o.dryRun})
	if apierrors.IsAlreadyExists(err) {
		have, err = resource.Patch(ctx, object.GetName(), types.MergePatchType, document, strict)
	}
	if err != nil {
		return err
	}
	if status, ok := object.Object["status"]; ok && !reflect.DeepEqual(status, have.Object["status"]) {
		_, err = resource.Patch(ctx, object.GetName(), types.MergePatchType, document, strict, "status")
	}
	return err
}

// Patch changes an object by a merge patch in JSON. kind is a singular or plural,
// as "pod"; subresource may be empty.
func (o *Objects) Patch(ctx context.Context, kind, name, patch, subresource string) error {
	resource, err := o.byName(kind)
	if err != nil {
		return err
	}
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	_, err = resource.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// Status returns the status of an object in JSON.
func (o *Objects) Status(ctx context.Context, kind, name string) ([]byte, error) {
	resource, err := o.byName(kind)
	if err != nil {
		return nil, err
	}
	object, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(object.Object["status"])
}

// Delete deletes an object at once, without the grace period that a kubelet would end.
func (o *Objects) Delete(ctx context.Context, kind, name string) error {
	resource, err := o.byName(kind)
	if err != nil {
		return err
	}
	return resource.Delete(ctx, name, atOnce())
}

// Dump returns all objects of kinds, in all namespaces, as `kubectl get -A -o json` does.
func (o *Objects) Dump(ctx context.Context, kinds ...string) ([]byte, error) {
	dump := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := []any{}
	for _, kind := range kinds {
		all, err := o.everywhere(kind)
		if err != nil {
			return nil, err
		}
		list, err := all.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			items = append(items, item.Object)
		}
	}
	dump["items"] = items
	return json.Marshal(dump)
}

// Clear deletes all objects of kinds that schedulers read, in all namespaces, and waits until
// they are gone.
func (o *Objects) Clear(ctx context.Context) error {
	for _, kind := range []string{
		"statefulsets", "daemonsets", "jobs", "resourcequotas", "limitranges",
		"pods", "resourceclaimtemplates", "resourceclaims", "resourceslices", "deviceclasses", "persistentvolumeclaims", "persistentvolumes", "poddisruptionbudgets", "services", "replicasets", "nodes",
		"storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments", "priorityclasses",
	} {
		all, err := o.everywhere(kind)
		if err != nil {
			return err
		}
		if err := o.clear(ctx, kind, all); err != nil {
			return fmt.Errorf("deleting all %s: %w", kind, err)
		}
	}
	return nil
}

func (o *Objects) clear(ctx context.Context, kind string, all dynamic.ResourceInterface) error {
	for {
		list, err := all.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		items := slices.DeleteFunc(list.Items, func(item unstructured.Unstructured) bool {
			// The API server's own.
			return kind == "services" && item.GetName() == "kubernetes" || kind == "priorityclasses" && strings.HasPrefix(item.GetName(), "system-")
		})
		if len(items) == 0 {
			return nil
		}
		if err := load.Each(ctx, len(items), func(ctx context.Context, i int) error {
			if err := o.remove(ctx, kind, &items[i]); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// remove deletes an object and its finalizers.
func (o *Objects) remove(ctx context.Context, kind string, item *unstructured.Unstructured) error {
	one, err := o.in(kind, item.GetNamespace())
	if err != nil {
		return err
	}
	if len(item.GetFinalizers()) > 0 {
		if _, err := one.Patch(ctx, item.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return one.Delete(ctx, item.GetName(), atOnce())
}

func atOnce() metav1.DeleteOptions {
	zero := int64(0)
	return metav1.DeleteOptions{GracePeriodSeconds: &zero}
}

// byName returns how to reach the objects of a kind in the default namespace.
func (o *Objects) byName(kind string) (dynamic.ResourceInterface, error) {
	return o.in(kind, o.namespace)
}

func (o *Objects) in(kind, namespace string) (dynamic.ResourceInterface, error) {
	gvr, err := o.mapper.ResourceFor(schema.GroupVersionResource{Resource: strings.ToLower(kind)})
	if err != nil {
		return nil, err
	}
	gvk, err := o.mapper.KindFor(gvr)
	if err != nil {
		return nil, err
	}
	return o.resource(gvk.GroupKind(), namespace)
}

func (o *Objects) everywhere(kind string) (dynamic.ResourceInterface, error) {
	gvr, err := o.mapper.ResourceFor(schema.GroupVersionResource{Resource: kind})
	return o.client.Resource(gvr), err
}

func (o *Objects) resource(kind schema.GroupKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := o.mapper.RESTMapping(kind)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return o.client.Resource(mapping.Resource), nil
	}
	if namespace == "" {
		namespace = o.namespace
	}
	return o.client.Resource(mapping.Resource).Namespace(namespace), nil
}
