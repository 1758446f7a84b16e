// Package gang is a plugin that places groups of pods all or nothing: a member keeps its node
// without being bound until enough of the others have one.
package gang

import (
	_ "embed"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// What makes a pod a member.
const (
	// Label names the gang, within the namespace.
	Label = "berth.dev/gang"
	// Size is an annotation: how many members must have a node.
	Size = "berth.dev/gang-size"
	// Rank is an annotation that the plugin sets: a number from 0 on that no other member has.
	Rank = "berth.dev/gang-rank"
)

// Most is the maximum size: the number of pods that one call can allow.
const Most = 256

// The reasons for rejecting a pod.
const (
	ReasonSize   = "the annotation " + Size + " of a member of a gang is not a number from 1 to 256"
	ReasonNoFit  = "another member of the gang fits on no node"
	ReasonLost   = "another member of the gang lost its place"
	ReasonRanked = "the gang has more than 65536 members"
)

// Gang is the plugin.
type Gang struct {
	berth.Base
	gang       berth.PodLabel
	size, rank berth.PodAnnotation
	label      berth.Const
	wrong      berth.Reason
	ranked     berth.Reason

	wait time.Duration

	// Scratch of PreFilter.
	uids  []string
	lines []byte
	ranks []uint64
}

var (
	_ berth.Configurer   = (*Gang)(nil)
	_ berth.PreEnqueuer  = (*Gang)(nil)
	_ berth.Hinter       = (*Gang)(nil)
	_ berth.PreFilterer  = (*Gang)(nil)
	_ berth.PostFilterer = (*Gang)(nil)
	_ berth.Reserver     = (*Gang)(nil)
	_ berth.Unreserver   = (*Gang)(nil)
	_ berth.Permitter    = (*Gang)(nil)
)

// New returns the plugin.
func New() *Gang {
	b := berth.Load(Manifest)
	return &Gang{
		Base: b, gang: b.PodLabel(Label), size: b.PodAnnotation(Size), rank: b.PodAnnotation(Rank),
		label: b.Const(Label), wrong: b.Reason(ReasonSize), ranked: b.Reason(ReasonRanked), wait: time.Minute,
	}
}

// Configure reads how long a member keeps its node while it waits for the others.
func (p *Gang) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("waitSeconds")
	seconds := c.Get("waitSeconds")
	n := seconds.Int64(60)
	if n < 1 || n > 900 {
		seconds.Refuse("it must be 1 to 900")
	}
	p.wait = time.Duration(n) * time.Second
	return c.Err()
}

// of returns the gang of a pod; Absent if it has none.
func (p *Gang) of(pod berth.Pod) berth.ID { return pod.LabelByKey(p.label.ID()) }

// sized returns how many members must have a node; 0 if the annotation is invalid.
func (p *Gang) sized(pod berth.Pod) int {
	n, ok := number(p.Text(pod.Annotation(p.size)))
	if !ok || n > Most {
		return 0
	}
	return n
}

// number reads a decimal number without a sign.
func number(text string) (int, bool) {
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = min(10*n+int(text[i]-'0'), 1<<30)
	}
	return n, text != ""
}

// PreEnqueue gates a member without a valid size until it is changed.
func (p *Gang) PreEnqueue(pod berth.Pod) berth.Status {
	if p.of(pod) != berth.Absent && p.sized(pod) == 0 {
		return berth.UnschedulableAndUnresolvable(p.wrong)
	}
	return berth.Success
}

// PreFilter records which members have a node, waiting or bound, and their ranks. Later points
// see only one node.
func (p *Gang) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	gang := p.of(pod)
	if gang == berth.Absent {
		return nil, berth.Skip
	}
	if p.sized(pod) == 0 {
		return nil, berth.UnschedulableAndUnresolvable(p.wrong)
	}
	p.uids, p.ranks = p.uids[:0], p.ranks[:0]
	for i := range nodes.Len() {
		pods := nodes.At(i).Pods()
		for j := range pods.Len() {
			member := pods.At(j)
			if member.Label(p.gang) != gang || member.Namespace() != pod.Namespace() || member.Terminating() {
				continue
			}
			if rank, ok := number(p.Text(member.Annotation(p.rank))); ok {
				p.ranks = mark(p.ranks, rank)
			}
			p.uids = append(p.uids, member.UID())
		}
	}
	rank := lowest(p.ranks)
	if rank >= mostRanks {
		return nil, berth.UnschedulableAndUnresolvable(p.ranked)
	}
	p.keep(rank)
	return nil, berth.Success
}

// Permit lets the members bind as soon as there are enough of them.
func (p *Gang) Permit(pod berth.Pod, _ berth.Node) (time.Duration, berth.Status) {
	members, ok := p.members()
	if !ok {
		return 0, berth.Success // not in a gang
	}
	if members.count+1 < p.sized(pod) {
		return p.wait, berth.Wait
	}
	for uid := range members.uids {
		if !p.Allow(uid) {
			break
		}
	}
	return 0, berth.Success
}

// PostFilter rejects the waiting members: a member that fits nowhere keeps all of them from
// being bound, and they may hold what it needs. Other plugins may still try to make room.
func (p *Gang) PostFilter(berth.Pod, berth.Judged) berth.Status {
	p.rejectAll(ReasonNoFit)
	return berth.Unschedulable(0)
}

// Reserve assigns a rank to the member.
func (p *Gang) Reserve(berth.Pod, berth.Node) berth.Status {
	if members, ok := p.members(); ok {
		p.Annotate(Rank, members.rank)
	}
	return berth.Success
}

// Unreserve also rejects the members that were waiting when this one got its node. A bound
// member stays.
func (p *Gang) Unreserve(berth.Pod, berth.Node) berth.Status {
	p.rejectAll(ReasonLost)
	return berth.Success
}

// rejectAll rejects the members.
func (p *Gang) rejectAll(reason string) {
	members, ok := p.members()
	if !ok {
		return
	}
	for uid := range members.uids {
		if !p.Reject(uid, reason) {
			return
		}
	}
}
