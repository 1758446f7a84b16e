package berthtest

import (
	"fmt"
	"math/bits"
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
	// config is the configuration in canonical form; refused is why it is none.
	config  []byte
	refused error
	// without is what regions leave out, though the manifest lists it; empty for nothing.
	without Read
}

// with returns the manifest with the names that a configuration brings (ABI-9.15).
func (m *Manifest) with(config string) *Manifest {
	out := *m
	if out.config, out.refused = m.schema.Check([]byte(config)); out.refused != nil {
		return &out
	}
	resolved, err := m.Resolve(out.config)
	if err != nil {
		out.refused = err
		return &out
	}
	out.Manifest, out.Reads = resolved, readsOf(&resolved.Reads)
	return &out
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
	return &Manifest{Manifest: m, schema: config, Reads: readsOf(&m.Reads)}, nil
}

// readsOf returns lists of reads by name.
func readsOf(r *wire.ManifestReads) map[string][]string {
	return map[string][]string{
		"node": r.Node, "nodeLabels": r.NodeLabels, "nodeAnnotations": r.NodeAnnotations, "nodeConditions": r.NodeConditions,
		"resources": r.Resources, "pods": r.Pods, "podLabels": r.PodLabels, "podAnnotations": r.PodAnnotations, "pod": r.Pod,
		"resolution": r.Resolution,
		"feeds":      r.Feeds, "objectColumns": r.ObjectColumns, "namespaces": r.Namespaces, "namespaceLabels": r.NamespaceLabels, "published": r.Published,
	}
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
		ObjectColumns: r["objectColumns"], Joins: m.Manifest.Reads.Joins(),
	}
}

func (m *Manifest) exports(p abi.Point) bool { return m.Points.Get(p) != nil }

// normalize applies the manifest's normalization (ABI-9.5).
func (m *Manifest) normalize(scores []int64) {
	how := m.Points.Score.Normalize
	if len(scores) == 0 || how == "" || how == wire.NormalizeNone {
		return
	}
	given := slices.DeleteFunc(slices.Clone(scores), func(s int64) bool { return s == abi.NoScore })
	if len(given) == 0 {
		clear(scores)
		return
	}
	lowest, highest := slices.Min(given), slices.Max(given)
	if how != wire.NormalizeMinMax {
		lowest, highest = 0, max(0, highest) // values below 0 count as 0
	}
	for i, s := range scores {
		if scores[i] = 0; s == abi.NoScore {
			continue
		}
		if highest > lowest { // in 128 bits, as the difference of two scores has 64
			above, width := uint64(max(s, lowest))-uint64(lowest), uint64(highest)-uint64(lowest)
			hi, lo := bits.Mul64(above, 100)
			quotient, _ := bits.Div64(hi, lo, width)
			scores[i] = int64(quotient)
		}
		if how == wire.NormalizeReverse {
			scores[i] = 100 - scores[i]
		}
	}
}
