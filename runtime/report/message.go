package report

import (
	"fmt"
	"slices"
	"strings"
)

// NoFit is the message for a pod that fits no node, in the words that
// autoscalers and people know from kube-scheduler: how many nodes there are, and
// how often each reason was given, sorted as text. A PreFilter message stands
// for all nodes; a PostFilter message comes last.
func NoFit(nodes int, preFilter string, reasons map[string]int, postFilter string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "0/%d nodes are available:", nodes)
	if preFilter != "" {
		fmt.Fprintf(&b, " %s.", preFilter)
	} else if len(reasons) > 0 {
		counted := make([]string, 0, len(reasons))
		for reason, n := range reasons {
			counted = append(counted, fmt.Sprintf("%d %s", n, reason))
		}
		slices.Sort(counted)
		fmt.Fprintf(&b, " %s.", strings.Join(counted, ", "))
	}
	if postFilter != "" {
		fmt.Fprintf(&b, " %s", postFilter)
	}
	return b.String()
}
