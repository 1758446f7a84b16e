package state

// history is the rows and slots that the last updates may have changed, for readers that do
// not look after each.
type history struct {
	rows, slots []uint32
	// begins has where those of an update begin, from that of the generation first on.
	begins []change
	first  uint64
}

type change struct{ rows, slots int }

// begin begins the update of a generation. Of a snapshot with n rows it forgets the older
// half if there are so many changes that a look at everything costs no more.
func (h *history) begin(generation uint64, n int) {
	for most := 2*n + 64; max(len(h.rows), len(h.slots)/4, len(h.begins)) > most; {
		old := (len(h.begins) + 1) / 2
		cut := change{len(h.rows), len(h.slots)}
		if old < len(h.begins) {
			cut = h.begins[old]
		}
		h.rows, h.slots = h.rows[:copy(h.rows, h.rows[cut.rows:])], h.slots[:copy(h.slots, h.slots[cut.slots:])]
		h.begins = h.begins[:copy(h.begins, h.begins[old:])]
		for i := range h.begins {
			h.begins[i].rows, h.begins[i].slots = h.begins[i].rows-cut.rows, h.begins[i].slots-cut.slots
		}
	}
	h.begins = append(h.begins, change{len(h.rows), len(h.slots)})
	h.first = generation + 1 - uint64(len(h.begins))
}

// forget says that anything may have changed before the next update, which is of a generation.
func (h *history) forget(generation uint64) {
	*h = history{rows: h.rows[:0], slots: h.slots[:0], begins: h.begins[:0], first: generation}
}

// since returns what may have changed since a generation; false if that is unknown.
func (h *history) since(generation uint64) (rows, slots []uint32, ok bool) {
	at := generation + 1 - h.first // very large if it was forgotten
	if at >= uint64(len(h.begins)) {
		return nil, nil, false
	}
	return h.rows[h.begins[at].rows:], h.slots[h.begins[at].slots:], true
}
