package zonelimit

import (
	"encoding/binary"
	"maps"
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// zones are numbers of pods by zone.
type zones map[string]uint32

// key is the state's. The value has for each zone, in the order of their names, the number as four
// bytes, the length of the name as one, and the name. It has no ids: the next call may run in
// another instance, where these mean other strings.
const key = "zones"

// save writes the numbers into the state of the pod's cycle. Zones without pods are left out, so that
// a pod that came and went leaves nothing behind.
func (p *ZoneLimit) save() berth.Status {
	var value []byte
	for _, zone := range slices.Sorted(maps.Keys(p.zones)) {
		if n := p.zones[zone]; n > 0 {
			value = binary.LittleEndian.AppendUint32(value, n)
			value = append(append(value, byte(len(zone))), zone...)
		}
	}
	if !p.StateSet(key, value) {
		return berth.Error(p.noRoom)
	}
	return berth.Success
}

// load reads them.
func (p *ZoneLimit) load() {
	clear(p.zones)
	value, _ := p.StateGet(key)
	for len(value) > 5 {
		end := 5 + int(value[4])
		p.zones[string(value[5:end])] = binary.LittleEndian.Uint32(value)
		value = value[end:]
	}
}
