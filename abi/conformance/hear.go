package conformance

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// hearing collects what the plugins of a profile log during a call.
type hearing struct {
	mu struct {
		sync.Mutex
		texts []heard
	}
}

type heard struct {
	plugin string
	level  int
	text   string
}

func (h *hearing) take(plugin string) func(level int, text string) {
	return func(level int, text string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mu.texts = append(h.mu.texts, heard{plugin, level, text})
	}
}

// since returns the logged texts and resets them.
func (h *hearing) since() []heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.mu.texts
	h.mu.texts = nil
	return out
}

// report is what a puppet (testdata/guests/talk.inc) logged in a call.
type report struct {
	dumps []*dump
	notes []note
	// lines are all other texts in readable form: "S 0", "G 5 hello", "O …".
	lines []string
	// configs are configurations that guests were given.
	configs [][]byte
	// objects are the bytes of whole objects, in order.
	objects [][]byte
}

// dump is the memory that berth_alloc returned, as it was in a call.
type dump struct {
	point, lo, hi, call uint32
	// life has a letter for each earlier event, see parts.inc.
	life   string
	allocs []allocation
	memory wire.Memory
}

type allocation struct{ size, align, address uint32 }

// note has the bounds of a call.
type note struct {
	point, lo, hi, n uint32
	rowSet           bool
	base             uint32
}

// mostMemory is the maximum size of memory in a dump, in bytes.
const mostMemory = 1 << 30

// understand decodes the texts of one plugin in one call.
func understand(texts []heard) (*report, error) {
	out := &report{}
	var open *dump
	for _, h := range texts {
		letter, data, ok := coded(h)
		if !ok {
			out.lines = append(out.lines, short(h.text))
			continue
		}
		switch words := wordsOf(data); {
		case letter == 'D' && len(words) >= 4:
			open = &dump{point: words[0], lo: words[1], hi: words[2], call: words[3], life: string(data[16:])}
		case letter == 'A' && open != nil:
			if err := open.room(words); err != nil {
				return nil, err
			}
		case letter == 'M' && open != nil:
			if err := open.pieces(data); err != nil {
				return nil, err
			}
		case letter == 'E' && open != nil:
			out.dumps, open = append(out.dumps, open), nil
		case letter == 'N' && len(words) == 6:
			out.notes = append(out.notes, note{words[0], words[1], words[2], words[3], words[4] == 1, words[5]})
		case letter == 'C':
			out.configs = append(out.configs, data)
		case letter == 'O' && len(words) > 0:
			out.objects = append(out.objects, data[4:])
			out.lines = append(out.lines, fmt.Sprintf("O %d", int32(words[0])))
		default:
			out.lines = append(out.lines, readable(letter, data))
		}
	}
	if open != nil {
		return nil, fmt.Errorf("a dump is cut off: the host lost texts of the log (ABI-7.1)")
	}
	return out, nil
}

// coded reports whether a text was encoded by talk.inc.
func coded(h heard) (letter byte, data []byte, ok bool) {
	if h.level != 1 || h.text == "" || strings.IndexByte("DAMENSGPOHWCF", h.text[0]) < 0 {
		return 0, nil, false
	}
	data, err := hex.DecodeString(h.text[1:])
	return h.text[0], data, err == nil && (len(data) > 0 || h.text == "E" || h.text == "A" || h.text == "M")
}

func readable(letter byte, data []byte) string {
	words := wordsOf(data)
	if len(words) == 0 {
		return string(letter)
	}
	out := fmt.Sprintf("%c %d", letter, int32(words[0]))
	switch {
	case letter == 'W':
		return "W " + hex.EncodeToString(data)
	case letter == 'F':
		return out + " " + hex.EncodeToString(data[4:])
	case len(data) > 4:
		out += " " + string(data[4:])
	}
	return out
}

// short writes a long text of one repeated letter as x*4096.
func short(text string) string {
	if len(text) > 64 && strings.Trim(text, text[:1]) == "" {
		return fmt.Sprintf("%s*%d", text[:1], len(text))
	}
	return text
}

func wordsOf(data []byte) (out []uint32) {
	for ; len(data) >= 4; data = data[4:] {
		out = append(out, binary.LittleEndian.Uint32(data))
	}
	return out
}

// room makes the memory as large as the allocations need.
func (d *dump) room(words []uint32) error {
	var end uint64
	for ; len(words) >= 3; words = words[3:] {
		d.allocs = append(d.allocs, allocation{words[0], words[1], words[2]})
		end = max(end, uint64(words[2])+uint64(words[0]))
	}
	if end > mostMemory {
		return fmt.Errorf("the host allocated up to address %#x, more than the kit supports", end)
	}
	d.memory = make(wire.Memory, end)
	return nil
}

func (d *dump) pieces(data []byte) error {
	const size = 4 + 64
	for ; len(data) >= size; data = data[size:] {
		at := uint64(binary.LittleEndian.Uint32(data))
		if at >= uint64(len(d.memory)) {
			return fmt.Errorf("a dump has a piece at %#x of a memory of %d bytes", at, len(d.memory))
		}
		copy(d.memory[at:], data[4:size])
	}
	if len(data) != 0 {
		return fmt.Errorf("a text of the log was cut to %d bytes after a piece (ABI-7.1)", len(data))
	}
	return nil
}

// region returns the allocation that contains the call record.
func (d *dump) region() (allocation, bool) {
	for _, a := range d.allocs {
		if a.address <= d.call && uint64(d.call) < uint64(a.address)+uint64(a.size) {
			return a, true
		}
	}
	return allocation{}, false
}

// snapshot reads the header and everything that it points to.
func (d *dump) snapshot() (*wire.CallView, *wire.Snapshot, *view.Reader, error) {
	call, err := wire.DecodeCall(d.memory, d.call)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := wire.DecodeSnapshot(d.memory, call.Header)
	if err != nil {
		return nil, nil, nil, err
	}
	return call, s, view.NewReader(s), nil
}
