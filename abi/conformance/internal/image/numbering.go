package image

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// InOrder numbers everything in the order of the cluster.
func InOrder(c *cluster.Cluster) *Numbering {
	return &Numbering{Nodes: count(len(c.Nodes)), Slots: count(len(c.Pods)), Namespaces: count(len(c.Namespaces))}
}

// Shuffled numbers everything in random order, with empty slots and empty rows of namespaces in
// between.
func Shuffled(c *cluster.Cluster, random *rand.Rand) *Numbering {
	return &Numbering{
		Nodes: random.Perm(len(c.Nodes)), Slots: spread(random, len(c.Pods)), Namespaces: spread(random, len(c.Namespaces)),
		Base: random.Uint32N(1 << 20),
	}
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// spread returns a permutation of 0 … n−1 with at most n+1 gaps of −1.
func spread(random *rand.Rand, n int) []int {
	var out []int
	for _, i := range random.Perm(n) {
		if random.IntN(3) == 0 {
			out = append(out, -1)
		}
		out = append(out, i)
	}
	return append(out, -1)
}

// Shifted numbers slots and namespaces in order, starting at n.
func Shifted(c *cluster.Cluster, n int) *Numbering {
	out := InOrder(c)
	gap := make([]int, n)
	for i := range gap {
		gap[i] = -1
	}
	out.Slots = append(gap[:n:n], out.Slots...)
	out.Namespaces = append(gap[:n:n], out.Namespaces...)
	out.Base = uint32(n)
	return out
}

// Far returns slots of which the second half comes 65,536 after the first. A guest that keeps only 16 bits of a slot
// takes one pod for the other.
func Far(slots []int) []int {
	first := len(slots) / 2
	out := slices.Clone(slots[:first])
	for len(out) < 1<<16 {
		out = append(out, -1)
	}
	return append(out, slots[first:]...)
}

// Wide returns a dictionary of the same strings with ids that come in pairs 65,536 apart. A guest that keeps only 16
// bits of an id takes one string for the other.
func Wide(d *wire.Dict, random *rand.Rand) *wire.Dict {
	out, order := wire.NewDict(), random.Perm(d.Len()-1)
	for at, i := range order {
		for at == len(order)/2 && out.Len() < 1<<16+1 {
			out.Intern(fmt.Sprintf("dead-%d", out.Len()))
		}
		out.Intern(d.String(uint32(i + 1)))
	}
	return out
}

// Renumbered returns a dictionary of the same strings with other ids, after some unused
// strings. random may be nil, to keep the order.
func Renumbered(d *wire.Dict, dead int, random *rand.Rand) *wire.Dict {
	out := wire.NewDict()
	for i := range dead {
		out.Intern(fmt.Sprintf("dead-%d", i))
	}
	order := count(d.Len() - 1)
	if random != nil {
		order = random.Perm(d.Len() - 1)
	}
	for _, i := range order {
		out.Intern(d.String(uint32(i + 1)))
	}
	return out
}
