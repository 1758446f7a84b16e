// Package kube connects a scheduler to a Kubernetes cluster: informers tell it of
// what is there, and a Cluster writes what it decides: bindings, evictions, status
// and events, in kube-scheduler's words. Nothing else in Berth but
// hostplugins/bridge speaks to an API server.
package kube
