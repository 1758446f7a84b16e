package kube

import (
	// client-go tells what it measures of requests, leader election and work queues to one
	// observer of the process. This one, which kube-scheduler has, keeps it in
	// component-base's registry of the process, which package telemetry serves.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
)
