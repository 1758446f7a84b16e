package wasm

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

var _ plugin.Detailer = (*Plugin)(nil)

// mostDetails is of how many nodes Details tells.
const mostDetails = 8

// Details says what the declared feeds say of the first of the nodes: the values that the verdict saw, and how old their samples are.
func (p *Plugin) Details(c *plugin.Cycle, rows []uint32) (out []plugin.Detail) {
	if len(p.manifest.Reads.Feeds) == 0 {
		return nil
	}
	for _, row := range rows[:min(len(rows), mostDetails)] {
		var all []string
		for _, feed := range p.manifest.Reads.Feeds {
			name, unit, _ := strings.Cut(feed, ":")
			cell := c.Snapshot.Nodes.Cell(row, c.Snapshot.Feed(name))
			if cell.State == abi.FeedNone {
				all = append(all, name+" has no value")
				continue
			}
			text := fmt.Sprintf("%s is %d %s", name, cell.Value, unit)
			if cell.State == abi.FeedStale {
				text += " and stale"
			}
			if cell.At > 0 {
				text += ", sampled at " + time.Unix(cell.At, 0).UTC().Format(time.RFC3339)
			}
			all = append(all, text)
		}
		out = append(out, plugin.Detail{Text: c.Snapshot.Name(row) + ": " + strings.Join(all, "; "), Rows: 1})
	}
	return out
}
