package mirror

import "github.com/berth-scheduler/berth/abi/wire"

// dictionary is the strings that a plugin sees, with ids of its own. All instances of the
// plugin share it, and no other plugin does: so it shows nothing of another tenant's
// strings, not even their number.
type dictionary struct {
	*wire.Dict
	epoch uint64
	live  int // size when the epoch began
	// text is the length of the first counted strings, and liveText that of those alive
	// when the epoch began, in bytes.
	text, liveText uint64
	counted        uint32

	host      *wire.Dict // of the snapshot that translate belongs to
	translate []uint32   // id of the host → id of the plugin; 0 if it has none yet
}

// begin starts an epoch, in which earlier ids are void.
func (d *dictionary) begin() {
	d.Dict = wire.NewDict()
	d.epoch++
	d.live, d.liveText, d.text, d.counted = 0, 0, 0, 0
	d.translate = d.translate[:0]
}

// follow prepares to translate the ids of a host dictionary.
func (d *dictionary) follow(host *wire.Dict) {
	if d.host != host {
		d.host, d.translate = host, d.translate[:0]
	}
	for len(d.translate) < host.Len() {
		d.translate = append(d.translate, 0)
	}
}

// of returns the plugin's id of a host's id.
func (d *dictionary) of(id uint32) uint32 {
	if id == 0 {
		return 0
	}
	if int(id) >= len(d.translate) {
		d.follow(d.host)
	}
	if d.translate[id] == 0 {
		d.translate[id] = d.Intern(d.host.String(id))
	}
	return d.translate[id]
}

// spareText is how much text may be dead in a dictionary, in bytes.
const spareText = 1 << 20

// stale reports whether more than half of the strings may be dead: their number or their
// length has doubled since the epoch began, when all were alive.
func (d *dictionary) stale() bool {
	return d.Len() > 2*d.live+4096 || d.size() > 2*d.liveText+spareText
}

// settle ends the beginning of an epoch: all strings are alive.
func (d *dictionary) settle() {
	if d.live == 0 {
		d.live, d.liveText = d.Len(), d.size()
	}
}

// size returns the length of all strings.
func (d *dictionary) size() uint64 {
	for ; d.counted < uint32(d.Len()); d.counted++ {
		d.text += uint64(len(d.String(d.counted)))
	}
	return d.text
}
