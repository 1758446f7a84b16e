package app

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/runtime/sim"
)

// maxEvicted is how many evicted pods are printed; JSON has all.
const maxEvicted = 20

// evicted prints the pods that were preempted.
func (p *printer) evicted(pods []sim.Eviction) {
	if len(pods) == 0 {
		return
	}
	columns := []column{{head: "POD", least: 20}, {head: "LEFT"}, {head: "FOR", least: 20}}
	var rows []table.Row
	for _, e := range pods[:min(len(pods), maxEvicted)] {
		rows = append(rows, table.Row{e.Namespace + "/" + e.Pod, e.Node, e.For})
	}
	p.printf("%s evicted for pods of higher priority:\n\n", count(len(pods), "pod"))
	p.table(columns, rows)
	if rest := len(pods) - maxEvicted; rest > 0 {
		p.text("… and %s more; -o json has all.", count(rest, "pod"))
		p.printf("\n")
	}
}

// resizes prints the pods that still wait for a resize in place.
func (p *printer) resizes(pods []sim.Resize) {
	if len(pods) == 0 {
		return
	}
	waits := make([]string, 0, len(pods))
	for _, r := range pods {
		waits = append(waits, fmt.Sprintf("%s/%s on %s (%s)", r.Namespace, r.Pod, r.Node, strings.TrimSuffix(r.Message, ".")))
	}
	p.text("Still waiting for a resize in place: %s.", some(waits, "; "))
	p.printf("\n")
}
