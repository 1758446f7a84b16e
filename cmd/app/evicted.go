package app

import (
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
