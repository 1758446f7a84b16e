package config

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/runtime/internal/nearest"
)

// Catalog tells which plugins exist. It is a parameter, so that this package
// knows no plugin.
type Catalog struct {
	// Known are the names of the plugins that are built.
	Known []string
	// Upstream are names that kube-scheduler v1.36 has and Berth has not built;
	// they are accepted with a warning and left out. A name also in Known counts
	// as known.
	Upstream []string
	// Partial are names in Known of plugins of kube-scheduler that are built in part
	// only; they are accepted at any point and with any args, with a warning.
	Partial []string
	// Late are names of plugins that a program brings along, whose points are known once they are made: see
	// Profile.Settle. They take any args.
	Late []string
	// Default is kube-scheduler's default multiPoint list in its order,
	// including plugins that are not built.
	Default []PluginWeight
	// Points returns the extension points that a built plugin implements.
	Points func(plugin string) []string
	// Custom (optional) takes args that say where a plugin that is not built comes
	// from, told by their kind, and returns its points and its typed args. The
	// plugin then counts as known in that profile.
	Custom func(name string, args Args) (points []string, typed any, err error)
	// CustomVersion and CustomKind are the apiVersion and kind of such args, CustomFields
	// the fields that they need besides, as a message shows them.
	CustomVersion, CustomKind, CustomFields string
}

// PluginWeight is an entry of the default list; weight 0 means 1.
type PluginWeight struct {
	Name   string
	Weight int32
}

func (c Catalog) built(name string) bool { return slices.Contains(c.Known, name) || c.late(name) }

func (c Catalog) late(name string) bool { return slices.Contains(c.Late, name) }

func (c Catalog) upstreamOnly(name string) bool {
	return !c.built(name) && slices.Contains(c.Upstream, name)
}

func (c Catalog) partial(name string) bool { return slices.Contains(c.Partial, name) }

// unfinished tells that there is a warning about a plugin, and that its args are not
// looked at.
func (c Catalog) unfinished(name string) bool { return c.partial(name) || c.upstreamOnly(name) }

func (c Catalog) implements(name, point string) bool {
	return c.late(name) || c.Points != nil && slices.Contains(c.Points(name), point)
}

// unknownFix says what to do about a name that is nowhere in the catalog.
func (c Catalog) unknownFix(name string) string {
	if fix, ok := removedPlugins()[name]; ok {
		return fix
	}
	if near, ok := nearest.Of(name, slices.Concat(c.Known, c.Late)); ok {
		return "did you mean " + quote(near) + "?" + c.moduleFix(" If", name)
	}
	return "Berth has no plugin of this name: remove it; or if your kube-scheduler has it compiled in, make it a module (docs/authors.md) " +
		"or compile it into Berth (docs/library.md)" + c.moduleFix("; if", name)
}

// moduleFix, which begins with the word if, shows the entry of pluginConfig that brings a plugin along; empty if none can.
func (c Catalog) moduleFix(word, name string) string {
	if c.CustomKind == "" {
		return ""
	}
	return fmt.Sprintf("%[5]s it is a module, give it %[1]s: add to pluginConfig of the same profile {name: %[2]q, args: {apiVersion: %[3]s, kind: %[1]s, %[4]s}}",
		c.CustomKind, name, c.CustomVersion, c.CustomFields, word)
}

// removedPlugins names plugins that old configuration files still mention and
// that kube-scheduler no longer has (apis/config/validation and the release
// notes of v1.20 to v1.29).
func removedPlugins() map[string]string {
	const removed = "remove it, as kube-scheduler did: "
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

// pointsOf names the points of a built plugin for a message.
func (c Catalog) pointsOf(name string) string {
	if c.Points == nil {
		return list(nil)
	}
	return list(c.Points(name))
}
