package conformance

import (
	"math/rand/v2"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/wire"
)

// way is one of the ways in which a host may show the same data to a guest and call it. The
// answers must be the same in all of them.
type way struct {
	// duty fails if the answers of this way differ from those of the first way, which has no
	// duty.
	duty string
	// fresh says when new instances are made.
	fresh freshness
	// numbers assigns the numbers in an instance.
	numbers func(c *cluster.Cluster, random *rand.Rand) *image.Numbering
	// shuffled assigns ids in another order, after some unused strings. lists has the entries of lists in another order, too:
	// a reason may be about the first that is wrong.
	shuffled, lists bool
	dead            int
	// wide has ids of more than 16 bits in large clusters, and such slots in one.
	wide bool
	// moving says which calls get new numbers and ids.
	moving moving
	// split divides calls of scope node anywhere, and shows each nothing but its rows; shards is the number of instances among which
	// nodes are divided.
	split  bool
	shards int
	// unknown adds what no version has, bits of flags among it, and has spans of nothing begin anywhere; spare is added to all capacities.
	unknown bool
	spare   uint32
	// states also compares what is left in the state.
	states bool
	// growing has one epoch for all scenes: strings are only added, and ids stay.
	growing bool
	// relaid writes each call into another layout of the same region, or what is only of the call to other places in it.
	relaid bool
	// plays are the numbers of the scenes, and again is how many times each call is made; 0 means once.
	plays []int
	again int
}

// alike reports whether everything is as in the first way, but for instances.
func (w *way) alike() bool {
	return w.duty == dutyRepeated || w.duty == dutyOneInstance || w.duty == dutyLasting
}

// freshness says when new instances are made.
type freshness int

const (
	eachCall freshness = iota
	eachCycle
	never
)

// moving says which calls see numbers and ids of their own.
type moving int

const (
	noCall moving = iota
	auxCalls
	allCalls
)

// shift is by how much ids and slots are moved in the way that looks for them in the state.
const shift = 37

// Names of duties that fail if ways differ.
const (
	dutyOneInstance = "one instance answers a second pod as a fresh one does"
	dutyRepeated    = "the same calls have the same answers"
	dutyNumbers     = "answers do not depend on the order of rows, slots, lists and ids"
	dutyMoving      = "the state has the same meaning in other instances"
	dutySplit       = "answers of scope node depend on their rows alone, however calls are divided"
	dutyShards      = "answers of scope node do not depend on other nodes"
	dutyState       = "the state holds no ids and no slots"
	dutyUnknown     = "unknown tables, columns, types, fields and flags are skipped"
	dutyGrowing     = "strings that are added within an epoch are found"
	dutyRelaid      = "nothing of a layout is kept when it changes"
)

func inOrder(c *cluster.Cluster, _ *rand.Rand) *image.Numbering { return image.InOrder(c) }

// ways returns all ways for a plugin; the others are compared with the first.
func ways(man *wire.Manifest) []way {
	shifted := func(c *cluster.Cluster, _ *rand.Rand) *image.Numbering { return image.Shifted(c, shift) }
	out := []way{
		{fresh: eachCall, numbers: inOrder},
		{duty: dutyRepeated, fresh: eachCall, numbers: inOrder},
		{duty: dutyOneInstance, fresh: never, numbers: inOrder},
		{duty: dutyNumbers, fresh: eachCycle, numbers: image.Shuffled, shuffled: true, lists: true, dead: 5, wide: true},
		{duty: dutyUnknown, fresh: eachCycle, numbers: inOrder, unknown: true, spare: 3000},
		{duty: dutyState, fresh: eachCycle, numbers: shifted, dead: shift, states: true},
		{duty: dutyGrowing, fresh: never, numbers: image.Shuffled, shuffled: true, lists: true, growing: true},
		{duty: dutyRelaid, fresh: never, numbers: image.Shuffled, shuffled: true, lists: true, growing: true, relaid: true},
	}
	which := auxCalls
	if len(man.CycleLocal) == 0 {
		which = allCalls // nothing may hold ids, not even up to normalize (ABI-7.10)
	}
	out = append(out, way{duty: dutyMoving, fresh: eachCall, numbers: image.Shuffled, shuffled: true, lists: true, moving: which})
	if node(man) {
		out = append(out, way{duty: dutySplit, fresh: eachCycle, numbers: image.Shuffled, shuffled: true, split: true})
	}
	if man.Sharded() {
		out = append(out, way{duty: dutyShards, fresh: eachCycle, numbers: image.Shuffled, shuffled: true, shards: 3})
	}
	return out
}
