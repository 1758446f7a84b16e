package berthtest

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Manifest is a plugin's manifest, with the lists of reads by name.
type Manifest struct {
	*wire.Manifest
	Reads map[string][]string
	// schema is that of the configuration.
	schema *schema.Schema
}

func parseManifest(data []byte) (*Manifest, error) {
	m, err := wire.DecodeManifest(data)
	if err != nil {
		return nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	config, _, err := schema.New(m.Config)
	if err != nil {
		return nil, fmt.Errorf("manifest: config: %w", err)
	}
	r := &m.Reads
	return &Manifest{Manifest: m, schema: config, Reads: map[string][]string{
		"node": r.Node, "nodeLabels": r.NodeLabels, "nodeAnnotations": r.NodeAnnotations, "nodeConditions": r.NodeConditions,
		"resources": r.Resources, "pods": r.Pods, "podLabels": r.PodLabels, "podAnnotations": r.PodAnnotations, "pod": r.Pod,
		"feeds": r.Feeds, "namespaces": r.Namespaces, "namespaceLabels": r.NamespaceLabels, "published": r.Published,
	}}, nil
}

// shows reports whether pod records have a field.
func (m *Manifest) shows(field string) bool { return slices.Contains(m.Reads["pod"], field) }

// reads returns what the tables have.
func (m *Manifest) reads() region.Reads {
	r := m.Reads
	return region.Reads{
		Node: r["node"], Pods: r["pods"], Namespaces: r["namespaces"], Resources: r["resources"], NodeLabels: r["nodeLabels"],
		NodeAnnotations: r["nodeAnnotations"], NodeConditions: r["nodeConditions"], PodLabels: r["podLabels"],
		PodAnnotations: r["podAnnotations"], NamespaceLabels: r["namespaceLabels"], Feeds: r["feeds"],
	}
}

func (m *Manifest) exports(p abi.Point) bool { return m.Points.Get(p) != nil }

// normalize applies the manifest's normalization (ABI-9.5).
func (m *Manifest) normalize(scores []int64) {
	how := m.Points.Score.Normalize
	if len(scores) == 0 || how == "" || how == wire.NormalizeNone {
		return
	}
	lowest, highest := slices.Min(scores), slices.Max(scores)
	if how != wire.NormalizeMinMax {
		lowest, highest = 0, max(0, highest) // values below 0 count as 0
	}
	for i, s := range scores {
		scores[i] = 0
		if highest > lowest {
			scores[i] = 100 * (max(s, lowest) - lowest) / (highest - lowest)
		}
		if how == wire.NormalizeReverse {
			scores[i] = 100 - scores[i]
		}
	}
}
