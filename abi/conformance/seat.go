package conformance

import (
	"bytes"
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/wire"
)

// seat is an instance with its region.
type seat struct {
	inst Instance
	f    *functions
	im   *image.Image // of the current call
	base uint32
	size uint32 // of the region
}

// Names of duties of an instance as a whole.
const (
	dutyStarts    = "an instance can be made, and accepts the configuration"
	dutyAlloc     = "berth_alloc returns memory that is aligned, in bounds and not in use"
	dutyRegion    = "only answers are written into the region"
	dutyTraps     = "no call traps"
	dutyBare      = "no call traps without nodes, rows and optional fields"
	dutyFunctions = "only declared host functions are called, where they are allowed"
	dutyModule    = "the module is as its manifest says"
)

// sit makes an instance with a region for an image. It returns nil if the guest fails; the
// ledger then says how.
func (k *checker) sit(ctx context.Context, im *image.Image) (*seat, error) {
	f := &functions{man: k.man, point: abi.NumPoints}
	inst, err := k.guest.New(ctx, f)
	if err != nil {
		k.looked(dutyStarts, err.Error())
		return nil, nil
	}
	s := &seat{inst: inst, f: f, im: im, size: im.Size}
	wrong := k.configure(ctx, s)
	k.looked(dutyStarts, wrong)
	if wrong == "" {
		wrong = k.region(ctx, s)
	}
	if wrong != "" {
		return nil, inst.Close(ctx)
	}
	return s, nil
}

// configure passes the configuration (ABI-2.3), and says what is wrong.
func (k *checker) configure(ctx context.Context, s *seat) string {
	if !k.guest.Exports(abi.ExportConfigure) {
		return ""
	}
	config := k.o.Config
	if len(config) == 0 {
		config = []byte("{}")
	}
	k.configured++
	at, wrong := s.alloc(ctx, uint32(len(config)), []uint32{8, 1, abi.RegionAlign}[k.configured%3]) // ABI-2.12
	k.looked(dutyAlloc, wrong)
	if wrong != "" {
		return wrong
	}
	copy(s.inst.Memory()[at:], config)
	result, err := s.inst.Configure(ctx, at, uint32(len(config)))
	switch {
	case err != nil:
		return fmt.Sprintf("berth_configure with %s: %v", config, err)
	case result != 0:
		return fmt.Sprintf("berth_configure refuses %s with %d; the guest logged %q", config, result, s.f.said)
	}
	s.base = at // the region must not overlap it
	return ""
}

// region allocates the region (ABI-2.4).
func (k *checker) region(ctx context.Context, s *seat) string {
	config, size := uint64(s.base), uint64(len(k.o.Config))
	at, wrong := s.alloc(ctx, s.im.Size, abi.RegionAlign)
	if from := uint64(at); wrong == "" && config != 0 && from < config+size && config < from+uint64(s.im.Size) {
		wrong = fmt.Sprintf("the region at %#x, of %d bytes, overlaps the configuration at %#x, of %d bytes", at, s.im.Size, config, size)
	}
	k.looked(dutyAlloc, wrong)
	s.base = at
	return wrong
}

// alloc calls berth_alloc, and says what is wrong with the result.
func (s *seat) alloc(ctx context.Context, size, align uint32) (uint32, string) {
	at, err := s.inst.Alloc(ctx, size, align)
	if err != nil {
		return 0, fmt.Sprintf("berth_alloc(%d, %d): %v", size, align, err)
	}
	return at, s.allocated(at, size, align)
}

// allocated says what is wrong with a result of berth_alloc.
func (s *seat) allocated(at, size, align uint32) string {
	what := fmt.Sprintf("berth_alloc(%d, %d) returns ", size, align)
	memory := uint64(len(s.inst.Memory()))
	switch {
	case at == 0:
		return what + "0"
	case at%align != 0:
		return fmt.Sprintf("%s%#x, which is not aligned", what, at)
	case uint64(at)+uint64(size) > memory:
		return fmt.Sprintf("%s%#x, which ends beyond the memory of %d bytes", what, at, memory)
	}
	return ""
}

// bytes returns the region.
func (s *seat) bytes() []byte { return s.inst.Memory()[s.base : s.base+s.im.Size] }

// changed says where the guest wrote to the region in violation of ABI-3.4, empty if nowhere.
// It overwrites before.
func (s *seat) changed(before []byte, n uint32, keys bool) string {
	im := s.im
	mine := []struct{ at, size uint32 }{
		{im.Call + abi.CallGuestStart, abi.CallAnswersEnd - abi.CallGuestStart}, {im.Codes, n}, {im.Reasons, 2 * n}, {im.Scores, 8 * n},
	}
	if keys {
		mine = append(mine, struct{ at, size uint32 }{im.Keys, abi.KeySize * n})
	}
	now := s.bytes()
	for _, m := range mine {
		copy(before[m.at:m.at+m.size], now[m.at:])
	}
	if bytes.Equal(now, before) {
		return ""
	}
	at := 0
	for now[at] == before[at] {
		at++
	}
	return fmt.Sprintf("byte %d of the region, which is in %s, was %#x and is %#x", at, s.place(uint32(at)), before[at], now[at])
}

// place says what an offset in the region belongs to.
func (s *seat) place(at uint32) string {
	im := s.im
	parts := []struct {
		from uint32
		what string
	}{
		{im.Call, "the call record"}, {im.Codes, "codes, beyond those of the call"}, {im.Reasons, "reasons, beyond those of the call"},
		{im.Scores, "scores, beyond those of the call"}, {im.Keys, "keys, beyond those of the call"}, {im.RowSet, "the row set"}, {im.Pod, "the pod record"},
		{im.Header, "the header"}, {im.PodList, "the pod list"}, {im.Queue, "the queue entries"}, {im.Event, "the event record"},
		{im.Records, "the records of the pod list"},
	}
	found := "the directories"
	from := uint32(0)
	for _, p := range parts {
		if p.from <= at && p.from >= from && at < im.Tables[0].Entry {
			found, from = p.what, p.from
		}
	}
	for i := range im.Tables {
		for j := range im.Tables[i].Columns {
			c := &im.Tables[i].Columns[j]
			if size := c.Elements * uint32(c.Type.Size()); at >= c.Data && at < c.Data+size {
				found = fmt.Sprintf("column %d (arg %d) of table %d, element %d", c.ID, c.Arg, im.Tables[i].ID, (at-c.Data)/uint32(c.Type.Size()))
			}
		}
	}
	return found
}

// decode reads the call record with the answers.
func (s *seat) decode() (*wire.CallView, error) {
	return wire.DecodeCall(s.inst.Memory(), s.base+s.im.Call)
}
