package berthtest

// host is the host functions of a trial. State is that of one pod's cycle; its
// values are copies.
type host struct {
	last     string
	state    map[string][]byte
	writable bool
}

func (h *host) Log(_ int, text string) { h.last = text }

func (h *host) StateGet(key string) ([]byte, bool) {
	v, ok := h.state[key]
	return append([]byte(nil), v...), ok
}

func (h *host) StateSet(key string, value []byte) bool {
	if !h.writable || len(key) > 128 || len(value) > 65536 || len(h.state) >= 64 {
		return false
	}
	h.state[key] = append([]byte(nil), value...)
	return true
}
