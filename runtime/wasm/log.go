package wasm

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// logOverhead is what a record of the log has besides a guest's text and the name of the plugin, in bytes: time, level
// and the names of fields, in text or JSON.
const logOverhead = 128

// ledger counts what a plugin logs during one try to place a pod, or in a second of calls that belong to none, in bytes of
// the log. It is kept in the state of the cycle, so that binding cycles go on counting.
type ledger struct{ used atomic.Int64 }

var _ state.Value = (*ledger)(nil)

// Clone implements state.Value: what is logged of a hypothetical node counts as well.
func (l *ledger) Clone() state.Value { return l }

// ledgerKey is the key of a plugin's ledger in a CycleState.
const ledgerKey = "log"

// ledgerOf returns the ledger of a try, which may have no state.
func (p *Plugin) ledgerOf(c *state.CycleState) *ledger {
	if c != nil {
		if l, ok := c.Read(p.config.Name, ledgerKey).(*ledger); ok {
			return l
		}
	}
	return &ledger{}
}

// betweenCycles is the ledger of calls that belong to no try: those about pods that arrive, keys and events, which come as
// often as a cluster changes. The caller holds the loop's token of the pool.
type betweenCycles struct {
	*ledger
	until time.Time
}

func (b *betweenCycles) at(now time.Time) *ledger {
	if b.ledger == nil || !now.Before(b.until) {
		b.ledger, b.until = &ledger{}, now.Add(time.Second)
	}
	return b.ledger
}

// take counts the texts of a record, and reports whether it is logged. first tells that it is the first that is not.
func (l *ledger) take(overhead, most int, texts ...string) (logged, first bool) {
	size := int64(overhead)
	for _, text := range texts {
		size += int64(len(text) + strings.Count(text, `"`) + strings.Count(text, `\`))
	}
	used := l.used.Add(size)
	return used <= int64(most), used > int64(most) && used-size <= int64(most)
}

// heard passes on what a guest logs, under its name (ABI-7.1). The levels are debug, info, warning and error; others
// count as the nearest.
func (p *Plugin) heard(l *ledger, level int, text string) {
	p.note(l, slog.LevelDebug+4*slog.Level(min(max(level, 0), 3)), text, "")
}

// note writes a record that counts as one of the plugin's, with a reason if there is one.
func (p *Plugin) note(l *ledger, level slog.Level, text, reason string) {
	most := p.config.Limits.LogSize
	if l.used.Load() > int64(most) || !p.deps.Log.Enabled(context.Background(), level) {
		return
	}
	text, reason = plain.Line(text, abi.MaxLogText), plain.Line(reason, fault.MaxDetail)
	attrs := []any{"plugin", p.config.Name}
	if reason != "" {
		attrs = append(attrs, "reason", reason)
	}
	switch logged, first := l.take(logOverhead+len(p.config.Name), most, text, reason); {
	case logged:
		p.deps.Log.Log(context.Background(), level, text, attrs...)
	case first:
		p.deps.Log.Warn("plugin logs more than its logSize; the rest is left out", "plugin", p.config.Name, "logSize", most)
	}
}
