package wire_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
)

// regionVector is a case of abi/vectors/regions.json.
type regionVector struct {
	Name string `json:"name"`
	// Memory has pieces of a linear memory, by address; the rest is zero.
	Memory []memoryPiece `json:"memory"`
	Size   uint32        `json:"size"`
	Call   uint32        `json:"call"`
	Want   regionWant    `json:"want"`
}

type memoryPiece struct {
	Address uint32 `json:"address"`
	Hex     string `json:"hex"`
}

type regionWant struct {
	Call       callWant    `json:"call"`
	Epoch      uint64      `json:"epoch"`
	Generation uint64      `json:"generation"`
	Seed       uint64      `json:"seed"`
	State      uint32      `json:"state"`
	Tables     []tableWant `json:"tables"`
}

type callWant struct {
	Point      uint32     `json:"point"`
	N          uint32     `json:"n_rows"`
	Rows       []uint32   `json:"rows"`
	Flags      uint32     `json:"flags"`
	Codes      []int      `json:"codes"`
	Reasons    []uint16   `json:"reasons"`
	Scores     []int64    `json:"scores"`
	ReasonSets [][]string `json:"reason_sets"`

	// Pod has the record's fields, as in podVector; so do Pods and Event.
	Pod          map[string]string   `json:"pod,omitempty"`
	RowSet       []uint32            `json:"row_set,omitempty"`
	StatusReason uint32              `json:"status_reason,omitempty"`
	Pods         []map[string]string `json:"pods,omitempty"`
	Event        *eventWant          `json:"event,omitempty"`
	Queue        []queueWant         `json:"queue,omitempty"`
	Directives   []directiveWant     `json:"directives,omitempty"`
	Wait         uint64              `json:"wait,omitempty"`
	RetryAfter   uint64              `json:"retry_after,omitempty"`
}

type eventWant struct {
	Resource  uint32            `json:"resource"`
	Actions   uint32            `json:"actions"`
	OldPod    map[string]string `json:"old_pod,omitempty"`
	NewPod    map[string]string `json:"new_pod,omitempty"`
	OldNode   uint32            `json:"old_node"`
	NewNode   uint32            `json:"new_node"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
}

// queueWant is a queue entry and its key, in hexadecimal.
type queueWant struct {
	Time     int64  `json:"time"`
	Attempts uint32 `json:"attempts"`
	Key      string `json:"key"`
}

type directiveWant struct {
	Kind   string `json:"kind"`
	First  string `json:"first"`
	Second string `json:"second"`
}

type tableWant struct {
	ID       uint32 `json:"id"`
	Rows     uint32 `json:"n_rows"`
	Capacity uint32 `json:"row_capacity"`
	Base     uint32 `json:"row_base"`
	Overlays uint32 `json:"overlay_capacity"`
	// Columns are "id.arg type capacity length".
	Columns []string `json:"columns"`
	// Cells is by row number, then by "id.arg".
	Cells map[string]map[string]string `json:"cells"`
}

// readRegion reads a memory with the reader.
func readRegion(memory wire.Memory, call uint32) (out regionWant, err error) {
	c, err := wire.DecodeCall(memory, call)
	if err != nil {
		return out, err
	}
	s, err := wire.DecodeSnapshot(memory, c.Header)
	if err != nil {
		return out, err
	}
	out = regionWant{Epoch: s.Epoch, Generation: s.Generation, Seed: s.Seed, State: s.State}
	if out.Call, err = readCall(memory, c, s); err != nil {
		return out, err
	}
	for _, t := range s.Tables {
		w := tableWant{ID: uint32(t.ID), Rows: t.Rows, Capacity: t.Capacity, Base: t.Base, Overlays: t.Overlays, Cells: map[string]map[string]string{}}
		for _, c := range t.Columns {
			w.Columns = append(w.Columns, fmt.Sprintf("%d.%d type %d, %d of %d", c.ID, c.Arg, c.Type, c.Length, c.Capacity))
		}
		for row := range t.Capacity + t.Overlays {
			if !t.HasRow(row) {
				continue
			}
			cells, err := s.Row(t.ID, row)
			if err != nil {
				return out, err
			}
			w.Cells[fmt.Sprint(row)] = cells
		}
		out.Tables = append(out.Tables, w)
	}
	return out, nil
}

func readCall(memory wire.Memory, c *wire.CallView, s *wire.Snapshot) (out callWant, err error) {
	out = callWant{
		Point: c.Point, N: c.N, Rows: c.Rows, Flags: c.Flags, Reasons: c.Reasons, Scores: c.Scores, ReasonSets: c.ReasonSets,
		StatusReason: c.StatusReason, Wait: c.Wait, RetryAfter: c.RetryAfter,
	}
	if c.HasRowSet {
		out.RowSet = c.RowSet
	}
	for _, code := range c.Codes {
		out.Codes = append(out.Codes, int(code))
	}
	for i, q := range c.Queue {
		out.Queue = append(out.Queue, queueWant{q.Time, q.Attempts, hex.EncodeToString(c.Keys[i])})
	}
	for _, d := range c.Directives {
		out.Directives = append(out.Directives, directiveWant{d.Kind.String(), d.First, d.Second})
	}
	if end := uint64(c.Pod) + uint64(c.PodSize); c.PodSize > 0 && end <= uint64(len(memory)) {
		if out.Pod, err = readPod(memory[c.Pod:end], s); err != nil {
			return out, err
		}
	}
	for _, record := range c.Pods {
		pod, err := readPod(record, s)
		if err != nil {
			return out, err
		}
		out.Pods = append(out.Pods, pod)
	}
	if e := c.Event; e != nil {
		out.Event = &eventWant{
			Resource: uint32(e.Resource), Actions: uint32(e.Actions), OldNode: e.OldNode, NewNode: e.NewNode, Namespace: e.Namespace, Name: e.Name,
		}
		if out.Event.OldPod, err = readPod(e.OldPod, s); err != nil {
			return out, err
		}
		out.Event.NewPod, err = readPod(e.NewPod, s)
	}
	return out, err
}

// readPod returns the fields of a record as text; nil if there is none.
func readPod(record []byte, s *wire.Snapshot) (map[string]string, error) {
	if record == nil {
		return nil, nil
	}
	p, err := wire.DecodePod(record)
	if err != nil {
		return nil, err
	}
	return p.Text(s)
}

// pieces returns the non-zero parts of a memory, in lines of 16 bytes.
func pieces(memory []byte) (out []memoryPiece) {
	for at := 0; at < len(memory); at += 16 {
		line := memory[at : at+16]
		if strings.Trim(string(line), "\x00") == "" {
			continue
		}
		if n := len(out); n > 0 && int(out[n-1].Address)+len(out[n-1].Hex)/2 == at && len(out[n-1].Hex) < 128 {
			out[n-1].Hex += hex.EncodeToString(line)
			continue
		}
		out = append(out, memoryPiece{Address: uint32(at), Hex: hex.EncodeToString(line)})
	}
	return out
}

func (v *regionVector) bytes(t *testing.T) wire.Memory {
	t.Helper()
	memory := make([]byte, v.Size)
	for _, p := range v.Memory {
		data, err := hex.DecodeString(p.Hex)
		if err != nil {
			t.Fatal(err)
		}
		copy(memory[p.Address:], data)
	}
	return memory
}

// TestRegionVectors: ABI-3 and ABI-4. The writer writes the bytes of the vectors, and the
// reader, which shares no code with it, reads what was written.
func TestRegionVectors(t *testing.T) {
	var cases []regionVector
	for _, e := range []struct {
		name string
		*example
	}{
		{"a filter call (section 11)", filterExample(t)},
		{"every type, a row set, an overlay row", allExample(t)},
		{"a reserve call with a directive (section 14)", reserveExample(t)},
		{"pre_enqueue of three pods", preEnqueueExample(t)},
		{"queue_key of two pods, the longest key and an empty one", queueExample(t)},
		{"hint, a changed node and two pods", hintExample(t)},
		{"hint, a deleted pod", podEventExample(t, false)},
		{"hint, an object of another kind", podEventExample(t, true)},
		{"pre_filter with namespaces and a row set", namespacesExample(t)},
		{"post_filter, which nominates a node", postFilterExample(t)},
		{"permit, which waits, allows, rejects and activates", permitExample(t)},
	} {
		v := regionVector{Name: e.name, Memory: pieces(e.memory), Size: uint32(len(e.memory)), Call: e.base + e.layout.Call}
		var err error
		if v.Want, err = readRegion(e.memory, v.Call); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		cases = append(cases, v)
	}
	for i, v := range load(t, "regions.json", cases) {
		got, err := readRegion(v.bytes(t), v.Call)
		if diff := cmp.Diff(v.Want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", v.Name, err, diff)
		}
		if i >= len(cases) {
			t.Errorf("%s: the vector has no writer", v.Name)
		} else if diff := cmp.Diff(v.Memory, cases[i].Memory); diff != "" {
			t.Errorf("%s: the writer writes something else (-want +got):\n%s", v.Name, diff)
		}
	}
}
