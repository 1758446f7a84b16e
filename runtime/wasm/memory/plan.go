package memory

import "fmt"

// Plan is how many cycle instances hold the nodes, and how large they may be.
type Plan struct {
	Instances int
	// RegionMax is how large the region of each may become within a cycle, in bytes.
	RegionMax uint64

	// full gives cycle instances all of their memory at once; tight says that there is no
	// room for that. share is the plugin's share that the plan was made for.
	full, tight bool
	share       int64
}

// Tight reports whether only one cycle instance at a time can have all of its memory, and only
// during a call.
func (p *Plan) Tight() bool { return p.tight }

// Needs is what cycle instances need, in bytes: each for its region, and the host for all of
// them.
type Needs struct {
	Region uint32
	Host   uint64
}

// Plan chooses how many cycle instances hold the nodes: at most so many, and as many as the
// budget has room for. Once one of them has grown, each must have room for all of its own
// memory. If there is no room for one with all of it, one may have it during a call. needs
// returns what n instances need; an error means that n are too few.
//
// # Errors
//
// There is no room for a single one. That does not depend on most.
func (b *Budget) Plan(most int, needs func(n int) (Needs, error)) (Plan, error) {
	p := Plan{Instances: most, full: b.use.grew.Load(), share: b.share.Load()}
	total, d, rowless := uint64(p.share), &b.division, uint64(0)
	if b.hasRowless() {
		rowless = 1
	}
	for {
		n, err := needs(p.Instances)
		if err != nil && p.Instances == 1 {
			return p, err
		} else if err != nil {
			p.Instances--
			continue
		}
		grant, place := d.grant, d.place
		if p.full && !p.tight {
			if grant = d.own; d.aux+rowless == 0 {
				place = 0 // no instance needs it
			}
		}
		instances := uint64(p.Instances)
		region := d.native + room(uint64(n.Region))
		need := place + d.deep + d.aux + d.state + n.Host + instances*(grant+region) + rowless*(d.grant+region)
		switch {
		case need <= total:
			b.needed.Store(int64(need))
			b.host.Store(int64(n.Host))
			p.RegionMax = uint64(n.Region) + (total-need)/(instances+rowless)
			return p, nil
		case p.Instances > 1:
			p.Instances--
		case p.full && !p.tight:
			p.tight = true
		default:
			return p, fmt.Errorf("it needs %s and has %s: %s for the guest itself, %s for a region, %s on the host's side, "+
				"%s for instances outside of cycles: %s, lower limits.memory, or declare fewer columns",
				inBytes(need), inBytes(total), inBytes(d.own), inBytes(uint64(n.Region)), inBytes(n.Host), inBytes(d.aux), b.remedy(total))
		}
	}
}

// remedy says what gives the plugin more memory than it has.
func (b *Budget) remedy(total uint64) string {
	if total < uint64(b.config.Total) {
		return "the plugins of the process share --plugin-memory: raise it"
	}
	return "raise limits.memoryTotal"
}

// Holds reports whether the plan still holds: a cycle instance that grew, or another share,
// ends it.
func (b *Budget) Holds(p *Plan) bool { return b.use.grew.Load() == p.full && b.share.Load() == p.share }

// Cycle returns the memory of a cycle instance with a region. Only one that holds nodes can
// get all of its memory at once.
func (b *Budget) Cycle(p *Plan, region uint32, holdsNodes bool) *Linear {
	grant := b.division.grant
	if holdsNodes && p.full && !p.tight {
		grant = b.division.own
	}
	l := b.linear(grant, region)
	l.cycle, l.full = holdsNodes, p.full
	return l
}

// Aux returns the memory of an aux instance with a region.
func (b *Budget) Aux(region uint32) *Linear { return b.linear(b.division.grant, region) }

func (b *Budget) linear(grant uint64, region uint32) *Linear {
	extra := room(uint64(region))
	return &Linear{max: b.division.own + extra, granted: grant + extra, use: &b.use, starting: true}
}
