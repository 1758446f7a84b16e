package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// writeTimeout bounds one write. It is longer than the API server's own request timeout.
const writeTimeout = 65 * time.Second

// begin waits for a write slot and returns a context for the write. Stopping the scheduler
// does not cancel that context, because the server may carry out a request in flight.
// Stopping cancels the writers that still wait for a slot. A slot is held for one or two
// requests, never during a pause.
func (c *Cluster) begin(ctx context.Context) (writing context.Context, end func(), err error) {
	over, err := c.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	return writing, func() {
		cancel()
		over()
	}, nil
}

// turn waits for a write slot. It takes a free slot even if ctx has ended.
func (c *Cluster) turn(ctx context.Context) (end func(), err error) {
	select {
	case c.slots <- struct{}{}:
	default:
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("cancelled before it was written: %w", context.Cause(ctx))
		}
	}
	return func() { <-c.slots }, nil
}

// Bind implements objects.Binder. The annotations of a patch are sent in the metadata
// of the Binding, which the API server merges into the pod in the same write
// (pkg/registry/core/pod/storage, BindingREST). The server drops labels there unless its
// PodTopologyLabels admission knows them, so a patch with labels is written first.
func (c *Cluster) Bind(ctx context.Context, b objects.Binding) error {
	meta := metav1.ObjectMeta{Namespace: b.Pod.Namespace, Name: b.Pod.Name, UID: b.Pod.UID, Annotations: b.Patch.Annotations}
	undo := func(context.Context) error { return nil }
	decided := c.deps.Clock.Now()
	if len(b.Patch.Labels) > 0 {
		writing, end, err := c.begin(ctx)
		if err != nil {
			return err
		}
		undo, err = c.Patch(writing, b.Pod, b.Patch)
		end()
		if err != nil {
			return fmt.Errorf("patch before the binding: %w", err)
		}
		meta.Annotations = nil
	}
	c.bindings.Add(1)
	defer c.bindings.Add(-1)
	watch := clock.Start()
	known, err := c.bind(ctx, b, &v1.Binding{ObjectMeta: meta, Target: v1.ObjectReference{Kind: "Node", Name: b.Node}}, decided)
	c.deps.wrote("pod_binding", watch, err)
	if err != nil && known {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		if failed := undo(ctx); failed != nil {
			c.log.Warn("cannot revert the patch of a pod that was not bound", "pod", b.Pod.Key(), "error", failed)
		}
	}
	return err
}

// metadata is a JSON merge patch of annotations and labels; null removes a key.
type metadata struct {
	Metadata struct {
		UID             types.UID          `json:"uid"`
		ResourceVersion string             `json:"resourceVersion,omitempty"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
		Labels          map[string]*string `json:"labels,omitempty"`
	} `json:"metadata"`
}

// Patch implements objects.Patcher. It first reads the old values of the keys from the API
// server, because the scheduler's copy of the pod already has the patch applied.
func (c *Cluster) Patch(ctx context.Context, pod *state.Pod, patch state.Patch) (undo func(context.Context) error, err error) {
	pods := c.deps.Client.CoreV1().Pods(pod.Namespace)
	before, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if before.UID != pod.UID || before.Spec.NodeName != "" {
		return nil, apierrors.NewConflict(v1.Resource("pods"), pod.Name, errors.New("the pod was recreated or is already bound"))
	}
	var forth, back metadata
	forth.Metadata.UID, back.Metadata.UID = pod.UID, pod.UID
	forth.Metadata.ResourceVersion = before.ResourceVersion // refuses the patch if the pod has changed
	forth.Metadata.Annotations, back.Metadata.Annotations = both(patch.Annotations, before.Annotations)
	forth.Metadata.Labels, back.Metadata.Labels = both(patch.Labels, before.Labels)
	send := func(ctx context.Context, m metadata) error {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		_, err = pods.Patch(ctx, pod.Name, types.MergePatchType, data, metav1.PatchOptions{})
		return err
	}
	undo = func(ctx context.Context) error {
		// Without a resourceVersion: others may have changed the pod meanwhile, but
		// the keys are the plugin's.
		err := send(ctx, back)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	if err := send(ctx, forth); err != nil {
		if unanswered(err) && !errors.Is(err, ErrLeaseLost) { // it may have been carried out
			err = errors.Join(err, undo(ctx))
		}
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w (deploy/patch-pods grants the permission to patch pods)", err)
		}
		return nil, err
	}
	return undo, nil
}

// both returns the values to write and those to restore; nil means that the key is
// absent.
func both(patch, before map[string]string) (forth, back map[string]*string) {
	if len(patch) == 0 {
		return nil, nil
	}
	forth, back = make(map[string]*string, len(patch)), make(map[string]*string, len(patch))
	for key, value := range patch {
		forth[key], back[key] = &value, nil
		if old, ok := before[key]; ok {
			back[key] = &old
		}
	}
	return forth, back
}
