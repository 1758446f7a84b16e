// Package kube connects a scheduler to a Kubernetes cluster. Informers deliver the
// cluster's objects, and a Cluster writes the scheduler's decisions: bindings, evictions,
// status and events, with kube-scheduler's texts. Besides this package, only
// hostplugins/bridge uses an API server.
package kube
