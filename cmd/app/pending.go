package app

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/runtime/sim"
)

// maxGroups is how many groups of pending pods are printed; JSON has all pods.
const maxGroups = 20

// group is pods that are pending for the same reasons.
type group struct {
	names   []string
	message string // of the first
	others  bool   // have messages with other counts
}

// pending prints the pods that were not placed, grouped by reason, the largest group
// first.
func (p *printer) pending(pods []sim.Pending) {
	if len(pods) == 0 {
		return
	}
	groups := groupPending(pods)
	columns := []column{{head: "PODS", numbers: true}, {head: "NAMES", least: 20}, {head: "WHY", least: 30}}
	var rows []table.Row
	rest, others := 0, false
	for i, g := range groups {
		if i >= maxGroups {
			rest += len(g.names)
			continue
		}
		others = others || g.others
		rows = append(rows, table.Row{len(g.names), some(g.names, "\n"), g.message})
	}
	p.printf("%s not placed:\n\n", count(len(pods), "pod"))
	p.table(columns, rows)
	if rest > 0 {
		p.text("… and %s for %d other reasons.", count(rest, "pod"), len(groups)-maxGroups)
	}
	if others {
		p.text("The counts are those of the first pod in each group, at its last attempt. -o json has the counts of every pod.")
	}
	if rest > 0 || others {
		p.printf("\n")
	}
}

// groupPending puts pods with the same reasons together, the largest group
// first. Groups of one size are in the order of the pods.
func groupPending(pods []sim.Pending) []*group {
	var groups []*group
	byReasons := make(map[string]*group)
	for _, pod := range pods {
		key := reasons(pod.Message)
		g := byReasons[key]
		if g == nil {
			g = &group{message: pod.Message}
			byReasons[key] = g
			groups = append(groups, g)
		}
		g.others = g.others || g.message != pod.Message
		g.names = append(g.names, pod.Namespace+"/"+pod.Pod)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(len(b.names), len(a.names)) })
	return groups
}

// reasons returns a message without its numbers of nodes, and regardless of the
// order, which depends on the numbers: "0/5 nodes are available: 2 Insufficient
// cpu, 3 node(s) were unschedulable." has the same reasons as "0/9 nodes are available:
// 4 node(s) were unschedulable, 5 Insufficient cpu." Preemption appends a second message
// of that form.
func reasons(message string) string {
	message, preemption, ok := strings.Cut(message, "preemption: ")
	filters, others, _ := strings.Cut(message, ". ") // of PostFilter plugins before
	out := uncounted(filters) + " " + others
	if ok {
		out += " preemption: " + uncounted(preemption)
	}
	return out
}

func uncounted(message string) string {
	all := strings.Split(strings.TrimSuffix(message, "."), ", ")
	head, first, ok := strings.Cut(all[0], ": ")
	if ok {
		all[0] = first
	}
	number := regexp.MustCompile(`^\d+ `)
	for i := range all {
		all[i] = number.ReplaceAllString(all[i], "")
	}
	slices.Sort(all)
	if ok && !strings.HasPrefix(head, "0/") {
		all = append(all, head)
	}
	return strings.Join(all, ", ")
}
