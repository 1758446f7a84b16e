package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// dutyLasting fails if something piles up in an instance, as no host may notice for hours.
const dutyLasting = "an instance answers the same calls for as long as it lives"

const (
	// leastOften is how many times a scene is played in one instance, or as many times as there are scenes: after 60 times,
	// reasons of 30 bytes for 40 nodes are more than a call may have.
	leastOften = 16
	// leastAgain is how many times each call of a small scene is made for each scene that there is. With 60 scenes, 40 bytes that each
	// call keeps fill a page of memory in the second half.
	leastAgain = 64
	// mostAgain ends the doubling of these times, which goes on while the memory grows: what a garbage collector needs comes to
	// an end, and what an allocator doubles grows once in each half.
	mostAgain = 1 << 16
	// small is the largest number of nodes of a small scene.
	small = 5
)

// lasts plays the scenes in which the guest says most again and again in the same instances. want has the first way's answers.
func (k *checker) lasts(ctx context.Context, all []*scene, want *answered) error {
	w := way{duty: dutyLasting, fresh: never, numbers: inOrder}
	for range max(leastOften, len(all)) {
		w.plays = append(w.plays, want.most(all, large()[0]-1)...)
	}
	if err := k.last(ctx, w, all, want); err != nil {
		return err
	}
	w.plays, w.again = want.most(all, small), leastAgain*len(all)
	return k.last(ctx, w, all, want)
}

// last plays scenes in a way that has numbers of them.
func (k *checker) last(ctx context.Context, w way, all []*scene, want *answered) error {
	d, err := k.drive(w, all)
	if err != nil {
		return err
	}
	for _, n := range w.plays {
		if err := ctx.Err(); err != nil {
			return err
		}
		script, err := d.play(ctx, all[n])
		if err != nil {
			return err
		}
		k.compare(w, all[n], want.scripts[n], script)
		k.compareReasons(w, all[n], want.said[n], d.said)
		k.compareReasons(w, all[n], want.reasons[n], d.reasons)
	}
	return d.close(ctx)
}

// called is a call that has been made.
type called struct {
	make   func() (int32, error)
	region []byte      // before the call
	state  *guestState // before the call
	result int32
}

// wears makes a call again and again, and says what is wrong: another verdict, or a memory that grows up to the end.
func (d *drive) wears(s *seat, c *called, rows uint32) string {
	verdicts := func() []byte {
		b := s.bytes()
		return slices.Concat(b[s.im.Codes:s.im.Codes+rows], b[s.im.Scores:s.im.Scores+8*rows])
	}
	want, said, half := verdicts(), len(s.f.said), 0
	for n, times := 1, d.w.again; ; n++ {
		copy(s.bytes(), c.region)
		s.f.said, s.f.state = s.f.said[:said], c.state.clone()
		switch result, err := c.make(); {
		case err != nil:
			return fmt.Sprintf("the same call, %d times later: %v", n, err)
		case result != c.result || !bytes.Equal(verdicts(), want):
			return fmt.Sprintf("the same call, %d times later, has another verdict", n)
		}
		switch memory := len(s.inst.Memory()); {
		case n == times/2:
			half = memory
		case n == times && memory == half:
			return ""
		case n == times && times >= mostAgain:
			return fmt.Sprintf("the memory is %d KiB after %d times of the same call, and %d KiB after %d times: use again what is only for one call, or "+
				"free it", half>>10, times/2, memory>>10, times)
		case n == times:
			times, half = 2*times, memory
		}
	}
}

// answered has the answers of the first way, by scene.
type answered struct {
	scripts       [][]entry
	reasons, said []map[string]string
}

// most returns the scenes, one or two, with so many nodes at most in which the guest says most: in reasons, and in all else.
func (a *answered) most(all []*scene, nodes int) []int {
	reasons, answers := 0, 0
	for n := range all {
		if len(all[n].cluster.Nodes) > nodes {
			continue
		}
		if a.size(n, true) >= a.size(reasons, true) {
			reasons = n
		}
		if a.size(n, false) >= a.size(answers, false) {
			answers = n
		}
	}
	return slices.Compact([]int{reasons, answers})
}

// size returns how many bytes the guest says in a scene.
func (a *answered) size(n int, reasons bool) (size int) {
	if !reasons {
		for _, e := range a.scripts[n] {
			size += len(e.answer)
		}
		return size
	}
	for _, texts := range []map[string]string{a.reasons[n], a.said[n]} {
		for _, text := range texts {
			size += len(text)
		}
	}
	return size
}
