// Package debughttp is what a running scheduler shows over HTTP: whether it is well,
// its metrics and configuration, what it decided about a pod and why, and which
// plugins run. Nothing can be changed through it.
package debughttp
