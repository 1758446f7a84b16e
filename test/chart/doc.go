// Package chart tests deploy/chart with Helm's own library. It is a module of its own, so that
// what Helm depends on stays out of Berth's.
package chart
