package conformance

import (
	"bytes"
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// blocks is how many blocks are allocated in an instance that has nothing else to do.
const blocks = 200

// apart allocates blocks of many sizes and alignments, and fills each: no block may be in another one (ABI-2.4), which where a region
// and one configuration are shows seldom. A guest may have no room for them.
func (k *checker) apart(ctx context.Context) error {
	f := &functions{man: k.man, point: abi.NumPoints}
	inst, err := k.guest.New(ctx, f)
	if err != nil {
		return nil //nolint:nilerr // sit says so
	}
	s := &seat{inst: inst, f: f}
	var at, sizes []uint32
	for i := range uint32(blocks) {
		size, align := 1+i*37%211, uint32(1)<<(i*5%7)
		if i%16 == 15 { // about as large as a page of memory
			size += 1<<16 - 105
		}
		address, err := inst.Alloc(ctx, size, align)
		if err != nil || address == 0 {
			break
		}
		if wrong := s.allocated(address, size, align); wrong != "" {
			k.looked(dutyAlloc, wrong)
			break
		}
		copy(inst.Memory()[address:], bytes.Repeat([]byte{byte(i)}, int(size)))
		at, sizes = append(at, address), append(sizes, size)
	}
	memory, wrong := inst.Memory(), ""
	for i, from := range at {
		if left := bytes.TrimLeft(memory[from:from+sizes[i]], string([]byte{byte(i)})); len(left) > 0 && wrong == "" {
			wrong = fmt.Sprintf("block %d of berth_alloc, of %d bytes at %#x, is not apart from those that followed", i, sizes[i], from)
		}
	}
	k.looked(dutyAlloc, wrong)
	return inst.Close(ctx)
}
