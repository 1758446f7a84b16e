package bridge

import (
	"context"
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
)

// preFilterExtension is one method of framework.PreFilterExtensions.
type preFilterExtension func(e framework.PreFilterExtensions, ctx context.Context, cs framework.CycleState, pod *v1.Pod,
	other framework.PodInfo, node framework.NodeInfo) *framework.Status

// unconnected returns a client configuration with which all requests fail.
func unconnected() *rest.Config {
	return &rest.Config{Host: "http://localhost", Transport: refusal{}}
}

// refusal is an http.RoundTripper that fails all requests.
type refusal struct{}

func (refusal) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s %s: no API server is connected: in a simulation or a configuration check a plugin sees only what its handle lists", r.Method, r.URL.Path)
}

// csiNodes implements framework.CSIManager over an informer's lister.
type csiNodes struct{ lister storagelisters.CSINodeLister }

var (
	_ framework.CSIManager    = csiNodes{}
	_ framework.CSINodeLister = csiNodes{}
)

// CSINodes implements framework.CSIManager.
func (c csiNodes) CSINodes() framework.CSINodeLister { return c }

// List implements framework.CSINodeLister.
func (c csiNodes) List() ([]*storagev1.CSINode, error) { return c.lister.List(labels.Everything()) }

// Get implements framework.CSINodeLister.
func (c csiNodes) Get(name string) (*storagev1.CSINode, error) { return c.lister.Get(name) }

// noEvents drops events.
type noEvents struct{}

var _ events.EventRecorderLogger = noEvents{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// WithLogger implements events.EventRecorderLogger.
func (e noEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return e }
