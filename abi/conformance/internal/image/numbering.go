package image

import (
	"fmt"
	"math/rand/v2"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// InOrder numbers everything in the order of the cluster.
func InOrder(c *cluster.Cluster) *Numbering {
	return &Numbering{Nodes: count(len(c.Nodes)), Slots: count(len(c.Pods)), Namespaces: count(len(c.Namespaces))}
}

// Shuffled numbers everything in an order of its own, with empty slots and empty
// rows of namespaces between.
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

// spread is a permutation of 0 … n−1 with gaps of −1, n+1 of them at most.
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

// Shifted numbers slots and namespaces in order, from n on.
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

// Renumbered returns a dictionary of the same strings with other ids, after some
// strings that nothing refers to any more. random may be nil, to keep the order.
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
