package wasm

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// journal writes what a plugin logs into the scheduler's log, up to its logSize.
type journal struct {
	name string
	most int // bytes during one try, or in a second of calls that belong to no try
	log  *slog.Logger

	mu     sync.Mutex
	recent []string // the last lines, the oldest first
}

// LastLines is how many lines of a plugin's log Status has, and LastLine how many bytes of each at most.
const (
	LastLines = 8
	LastLine  = 256
)

// keep keeps a line for Status.
func (j *journal) keep(level slog.Level, text string) {
	line := plain.Cut(strings.ToLower(level.String())+": "+text, LastLine)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.recent) == LastLines {
		j.recent = append(j.recent[:0], j.recent[1:]...)
	}
	j.recent = append(j.recent, line)
}

// last returns the last lines, the oldest first.
func (j *journal) last() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.recent)
}

// recordOverhead is the size of a log record besides the guest's text and the plugin's name,
// in bytes: time, level and the names of fields, in text or JSON.
const recordOverhead = 128

// guest logs a text of the guest under the plugin's name (ABI-7.1). The levels are debug,
// info, warning and error; any other counts as the nearest.
func (j *journal) guest(l *ledger, level int, text string) {
	j.record(l, slog.LevelDebug+4*slog.Level(min(max(level, 0), 3)), text, "")
}

// record logs a text, with a reason if there is one, and counts it as one of the plugin's.
func (j *journal) record(l *ledger, level slog.Level, text, reason string) {
	if l.used.Load() > int64(j.most) || !j.log.Enabled(context.Background(), level) {
		return
	}
	text, reason = plain.Line(text, abi.MaxLogText), plain.Line(reason, fault.MaxDetail)
	attrs := []any{"plugin", j.name}
	if reason != "" {
		attrs = append(attrs, "reason", reason)
	}
	switch logged, first := l.take(recordOverhead+len(j.name), j.most, text, reason); {
	case logged:
		j.log.Log(context.Background(), level, text, attrs...)
		j.keep(level, text)
	case first:
		j.log.Warn("plugin logs more than its logSize; the rest is left out", "plugin", j.name, "logSize", j.most)
	}
}

// ledger counts what a plugin logs during one try to place a pod, or in a second of calls
// that belong to no try, in bytes of the log. It is kept in the state of the cycle, so that
// binding cycles go on counting.
type ledger struct{ used atomic.Int64 }

var _ state.Value = (*ledger)(nil)

// Clone implements state.Value: what is logged about a hypothetical node counts too.
func (l *ledger) Clone() state.Value { return l }

// ledgerKey is the key of a plugin's ledger in a CycleState.
const ledgerKey = "log"

// ledgerOf returns the plugin's ledger of a try; c may be nil.
func (t *traits) ledgerOf(c *state.CycleState) *ledger {
	if c != nil {
		if l, ok := c.Read(t.config.Name, ledgerKey).(*ledger); ok {
			return l
		}
	}
	return &ledger{}
}

// take counts the texts of a record, and reports whether it is logged. first reports whether
// it is the first that is not.
func (l *ledger) take(overhead, most int, texts ...string) (logged, first bool) {
	size := int64(overhead)
	for _, text := range texts {
		size += int64(len(text) + strings.Count(text, `"`) + strings.Count(text, `\`))
	}
	used := l.used.Add(size)
	return used <= int64(most), used > int64(most) && used-size <= int64(most)
}

// betweenTries is the ledger of calls that belong to no try: about pods that arrive, keys
// and events. They come as often as a cluster changes. Only the loop uses it.
type betweenTries struct {
	*ledger
	until time.Time
}

// at returns the ledger of the second that now is in.
func (b *betweenTries) at(now time.Time) *ledger {
	if b.ledger == nil || !now.Before(b.until) {
		b.ledger, b.until = &ledger{}, now.Add(time.Second)
	}
	return b.ledger
}
