package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// ResourcesHandler serves the requests and limits of each pod, as the scheduler and the kubelet
// count them: kube_pod_resource_request and kube_pod_resource_limit, which are stable metrics
// of kube-scheduler's /metrics/resources. At each scrape it calls pods, which returns the pods
// that have not terminated.
func ResourcesHandler(pods func() []*v1.Pod) http.Handler {
	labels := []string{"namespace", "pod", "node", "scheduler", "priority", "resource", "unit"}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&podResources{
		pods: pods,
		requests: prometheus.NewDesc("kube_pod_resource_request",
			"Resources that a pod requests, as the scheduler and the kubelet count them.", labels, nil),
		limits: prometheus.NewDesc("kube_pod_resource_limit",
			"Resources that a pod may use, as the scheduler and the kubelet count them.", labels, nil),
	})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// podResources collects the resources of pods.
type podResources struct {
	pods             func() []*v1.Pod
	requests, limits *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *podResources) Describe(out chan<- *prometheus.Desc) {
	out <- c.requests
	out <- c.limits
}

// Collect implements prometheus.Collector.
func (c *podResources) Collect(out chan<- prometheus.Metric) {
	// The lists are reused for each pod, because there may be many pods.
	requests, limits := make(v1.ResourceList), make(v1.ResourceList)
	for _, pod := range c.pods() {
		collect(out, c.requests, pod, resource.PodRequests(pod, resource.PodResourcesOptions{Reuse: requests}))
		collect(out, c.limits, pod, resource.PodLimits(pod, resource.PodResourcesOptions{Reuse: limits}))
	}
}

func collect(out chan<- prometheus.Metric, desc *prometheus.Desc, pod *v1.Pod, resources v1.ResourceList) {
	priority := ""
	if pod.Spec.Priority != nil {
		priority = strconv.Itoa(int(*pod.Spec.Priority))
	}
	for name, quantity := range resources {
		if quantity.IsZero() {
			continue
		}
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, quantity.AsApproximateFloat64(),
			pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Spec.SchedulerName, priority, string(name), unitOf(name))
	}
}

// unitOf returns the unit of a resource; empty for one that is counted or unknown.
func unitOf(name v1.ResourceName) string {
	switch {
	case name == v1.ResourceCPU:
		return "cores"
	case name == v1.ResourceMemory, name == v1.ResourceStorage, name == v1.ResourceEphemeralStorage,
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
		return "bytes"
	case strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix):
		return "integer"
	}
	return ""
}
