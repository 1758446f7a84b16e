package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// seenIDs are the strings of instances by id, as dumps have shown them, by plugin and by what
// the instance is for.
type seenIDs map[string][]ids

// ids are the strings of one dump. life names the instance, as far as a guest can tell: what
// happened in it before the dump.
type ids struct {
	life    string
	region  uint32
	epoch   uint64
	strings []string
}

// dumped is the letter that a dump leaves in the life of an instance.
const dumped = "d"

// add compares a dump with the one before it in the same instance, and says what is wrong:
// within an epoch strings are only added (ABI-4.16). Of several instances with the same life
// one must agree.
func (s seenIDs) add(plugin string, d *dump, snapshot *wire.Snapshot) string {
	now := ids{life: d.life, epoch: snapshot.Epoch}
	if region, ok := d.region(); ok {
		now.region = region.address
	}
	table := snapshot.Table(abi.TableStrings)
	if table == nil {
		return ""
	}
	for id := range table.Rows {
		text, err := snapshot.String(id)
		if err != nil {
			return err.Error()
		}
		now.strings = append(now.strings, text)
	}
	key := fmt.Sprint(plugin, abi.Point(d.point).Aux())
	wrong := ""
	if before, ok := strings.CutSuffix(now.life, dumped); ok {
		for _, last := range slices.Backward(s[key]) {
			if last.life != before || last.region != now.region {
				continue
			}
			if wrong = last.changed(&now); wrong == "" {
				break
			}
		}
	}
	s[key] = append(s[key], now)
	return wrong
}

// changed says which string changed within an epoch; empty if none did.
func (i *ids) changed(now *ids) string {
	switch {
	case i.epoch != now.epoch:
		return ""
	case len(now.strings) < len(i.strings):
		return fmt.Sprintf("there were %d strings, and are %d in the same epoch %d (ABI-4.16)", len(i.strings), len(now.strings), now.epoch)
	}
	for id, text := range i.strings {
		if now.strings[id] != text {
			return fmt.Sprintf("id %d was %q, and is %q in the same epoch %d (ABI-4.16)", id, text, now.strings[id], now.epoch)
		}
	}
	return ""
}
