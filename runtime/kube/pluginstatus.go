package kube

import (
	"context"
	"encoding/json"
	"errors"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// WritePluginStatus replaces the status of an object of berth.dev that is still of a version
// (metadata.resourceVersion). It does nothing if the object is gone.
//
// # Errors
//
// A conflict, if the object has changed; the write failed, or this replica may not write without
// the lease.
func (c *Cluster) WritePluginStatus(ctx context.Context, kind string, of types.NamespacedName, uid types.UID, version string, status any) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "test", "path": "/metadata/resourceVersion", "value": version},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	request := c.deps.Plugins.Patch(types.JSONPatchType).Resource(v1alpha1.Plural(kind)).Name(of.Name).SubResource("status").Body(patch)
	if of.Namespace != "" {
		request.Namespace(of.Namespace)
	}
	watch := clock.Start()
	err = request.Do(ctx).Error()
	c.deps.wrote("plugin_status_patch", watch, err)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if s := apierrors.APIStatus(nil); errors.As(err, &s) && apierrors.IsInvalid(err) && len(causes(s)) == 0 { // of a test
		return apierrors.NewConflict(v1alpha1.GroupVersion().WithResource(v1alpha1.Plural(kind)).GroupResource(), of.Name, err)
	}
	return err
}

// causes are what the API server says is wrong with an object.
func causes(s apierrors.APIStatus) []metav1.StatusCause {
	if d := s.Status().Details; d != nil {
		return d.Causes
	}
	return nil
}

// TellOfPlugin writes an event about an object of berth.dev.
func (c *Cluster) TellOfPlugin(kind string, of types.NamespacedName, uid types.UID, ready bool, reason, note string) {
	about := &v1.ObjectReference{APIVersion: v1alpha1.GroupVersion().String(), Kind: kind, Namespace: of.Namespace, Name: of.Name, UID: uid}
	severity := v1.EventTypeWarning
	if ready {
		severity = v1.EventTypeNormal
	}
	c.events.recorders[c.config.Profiles[0]].Eventf(about, nil, severity, reason, "Attaching", "%s", shownNote(note))
}
