// Package imagelocality prefers nodes that have the pod's images, weighting an image by its
// size and by the share of nodes that have it, so that pods of one image do not pile up on the
// first node that pulled it.
package imagelocality

import (
	"encoding/binary"
	"math"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "ImageLocality"

// Image bytes that affect the score: up to the minimum a node scores 0, from the maximum (which
// is per image that the pod names) on it scores 100.
const (
	minBytes         int64 = 23 << 20
	maxBytesPerImage int64 = 1000 << 20
)

// fewImages is the number of images for which a call needs no heap allocation.
const fewImages = 16

// ImageLocality is the plugin.
type ImageLocality struct{ info plugin.Info }

var (
	_ plugin.Score      = (*ImageLocality)(nil)
	_ plugin.Aggregates = (*ImageLocality)(nil)
)

// New returns the plugin.
func New() *ImageLocality {
	return &ImageLocality{info: plugin.Info{
		Name:       Name,
		Reads:      append(plugin.Whole(abi.NodeImages, abi.PodImages), plugin.Read{Column: abi.PodVolumes, Args: []string{state.VolumeImage}}),
		NodeScoped: []abi.Point{abi.Score},
	}}
}

// Info describes the plugin.
func (p *ImageLocality) Info() *plugin.Info { return &p.info }

// AppendAggregates appends the number of nodes that have each of the pod's images.
func (p *ImageLocality) AppendAggregates(b []byte, c *plugin.Cycle) []byte {
	var buf [fewImages]image
	wanted := present(buf[:0], c)
	for i := range wanted {
		b = binary.LittleEndian.AppendUint32(b, wanted[i].name)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(wanted[i].spread))
	}
	return b
}

// image is an image of the pod that at least one node has.
type image struct {
	name   uint32
	spread float64 // the share of nodes that have it
}

// Score scores the bytes of the pod's images on each node, including image volumes (KEP-4639).
// An image that several containers use counts for each.
func (p *ImageLocality) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	var buf [fewImages]image
	wanted := present(buf[:0], c)
	if len(wanted) == 0 {
		return nil
	}
	count := int64(len(c.Pod.Images))
	for j := range c.Pod.Object.Spec.Volumes {
		if c.Pod.Object.Spec.Volumes[j].Image != nil {
			count++
		}
	}
	columns := &c.Snapshot.Nodes.Images
	for i, row := range rows {
		if columns.Spans[row].Len == 0 {
			continue
		}
		images := columns.Row(row)
		var sum int64
		for j := range wanted {
			if at := find(images, wanted[j].name); at < len(images) && images[at].Name == wanted[j].name {
				sum = quantity.Sum(sum, int64(min(float64(float64(images[at].Size)*wanted[j].spread), math.MaxInt64/2)))
			}
		}
		if sum > minBytes { // less is 0 points
			out[i] = score(sum, count)
		}
	}
	return nil
}

// present appends those of the pod's images that at least one node has.
func present(dst []image, c *plugin.Cycle) []image {
	t := &c.Snapshot.Nodes
	add := func(name string) {
		id := c.Snapshot.Strings.Lookup(name)
		if id == 0 || int(id) >= len(t.ImageNodes) || t.ImageNodes[id] == 0 {
			return
		}
		dst = append(dst, image{name: id, spread: float64(t.ImageNodes[id]) / float64(c.Snapshot.Len())})
	}
	for _, name := range c.Pod.Images {
		add(name)
	}
	volumes := c.Pod.Object.Spec.Volumes
	for i := range volumes {
		if volumes[i].Image != nil {
			add(state.NormalImageName(volumes[i].Image.Reference))
		}
	}
	return dst
}

// find returns the index of a name in a list sorted by name, or where it would be inserted.
// Most of the time of Score is spent here, and an inlined comparison halves it.
func find(images []wire.Image, name uint32) (at int) {
	for n := len(images); n > 0; {
		if half := n / 2; images[at+half].Name < name {
			at += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return at
}

// score scales the bytes of a number of images to 0 … 100.
func score(bytes, images int64) int64 {
	most := maxBytesPerImage * images
	bytes = max(minBytes, min(bytes, most))
	return abi.MaxScore * (bytes - minBytes) / (most - minBytes)
}
