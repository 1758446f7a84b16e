package config

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// Catalog says which plugins exist. It is a parameter, so that this package does not depend on
// plugins.
type Catalog struct {
	// Known are the names of the built-in plugins.
	Known []string
	// Upstream are the names of kube-scheduler v1.37's plugins that Berth does not implement.
	// They are accepted with a warning and left out. A name that is also in Known counts as
	// known.
	Upstream []string
	// Late are names of plugins that a program registers. Their points are known once they are
	// constructed: see Profile.Settle. They take any args. Args of kind WasmPluginArgs add the names of
	// modules in their profile.
	Late []string
	// NoStorageScores leaves VolumeBinding without a default shape, as it was before v1.37.
	NoStorageScores bool
	// Default is kube-scheduler's default multiPoint list in its order, including plugins that
	// are not implemented.
	Default []PluginWeight
	// Points returns the extension points that a built-in plugin implements.
	Points func(plugin string) []string
	// Features are the features of pods that a profile can leave to others.
	Features []string
}

// PluginWeight is an entry of the default list; weight 0 means 1.
type PluginWeight struct {
	Name   string
	Weight int32
}

// WithGates returns the catalog with what feature gates add to the default list.
func (c Catalog) WithGates(g Gates) Catalog {
	at := slices.IndexFunc(c.Default, func(p PluginWeight) bool { return p.Name == "NodeResourcesFit" })
	if g.On(ResizePreemption) && at >= 0 {
		c.Default = slices.Insert(slices.Clone(c.Default), at, PluginWeight{Name: "DeferredPodScheduling"})
	}
	return c
}

func (c Catalog) built(name string) bool { return slices.Contains(c.Known, name) || c.late(name) }

func (c Catalog) late(name string) bool { return slices.Contains(c.Late, name) }

func (c Catalog) upstreamOnly(name string) bool {
	return !c.built(name) && slices.Contains(c.Upstream, name)
}

func (c Catalog) implements(name, point string) bool {
	return c.late(name) || c.Points != nil && slices.Contains(c.Points(name), point)
}

// unknownFix says what to do about a name that is not in the catalog.
func (c Catalog) unknownFix(name string) string {
	if fix, ok := removedPlugins()[name]; ok {
		return fix
	}
	if near, ok := nearest.Of(name, slices.Concat(c.Known, c.Late)); ok {
		return "did you mean " + quote(near) + "?" + moduleFix(" If", name)
	}
	return "Berth has no plugin of this name: remove it; or if your kube-scheduler has it compiled in, make it a module (docs/authors.md) " +
		"or compile it into Berth (docs/library.md)" + moduleFix("; if", name)
}

// moduleFix returns a remedy that begins with word, an "if" in some form: the entry of
// pluginConfig that makes the plugin a module.
func moduleFix(word, name string) string {
	return fmt.Sprintf("%[4]s it is a module, give it %[1]s: add to pluginConfig of the same profile "+
		"{name: %[2]q, args: {apiVersion: %[3]s, kind: %[1]s, module: {path: FILE.wasm}}}",
		v1alpha1.KindWasmPluginArgs, name, v1alpha1.GroupVersion(), word)
}

// removedPlugins are plugins that old configuration files still mention and that kube-scheduler
// has removed (apis/config/validation and the release notes of v1.20 to v1.29), with their
// remedies.
func removedPlugins() map[string]string {
	const removed = "remove it; kube-scheduler no longer has it: "
	const limits = removed + "NodeVolumeLimits checks CSI volume limits"
	const strategy = removed + "set scoringStrategy in the args of NodeResourcesFit instead"
	return map[string]string{
		"AzureDiskLimits":             limits,
		"CinderLimits":                limits,
		"EBSLimits":                   limits,
		"GCEPDLimits":                 limits,
		"NodeResourcesLeastAllocated": strategy,
		"NodeResourcesMostAllocated":  strategy,
		"RequestedToCapacityRatio":    strategy,
		"SelectorSpread":              removed + "PodTopologySpread spreads by default",
		"NodeLabel":                   removed + "set addedAffinity in the args of NodeAffinity instead",
		"ServiceAffinity":             removed + "use InterPodAffinity instead",
		"NodePreferAvoidPods":         removed + "use taints with effect PreferNoSchedule instead",
	}
}

// pointsOf lists the points of a built-in plugin for a message.
func (c Catalog) pointsOf(name string) string {
	if c.Points == nil {
		return list(nil)
	}
	return list(c.Points(name))
}
