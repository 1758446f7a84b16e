package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
)

// MaxMessage is the maximum size of a message about a pod, in bytes, because it is written to
// the pod's condition.
const MaxMessage = 4 << 10

// leastAfter is the room, in bytes, that a long PostFilter message keeps when the whole message
// is cut.
const leastAfter = 1 << 10

// NoFit returns the message for a pod that fits no node, in kube-scheduler's words, which
// autoscalers and people know: the number of nodes, and the number of times of each reason,
// sorted as text. A PreFilter message counts for all nodes; a PostFilter message comes last. If
// the reasons exceed MaxMessage it says how many are left out; Rejections has all of them.
func NoFit(nodes int, preFilter string, reasons map[string]int, postFilter string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "0/%d nodes are available:", nodes)
	room := MaxMessage - b.Len() - len(" .")
	if after := len(postFilter); after > 0 {
		room -= len(" ") + min(after, leastAfter)
	}
	if preFilter != "" {
		fmt.Fprintf(&b, " %s.", plain.Lines(preFilter, room))
	} else if len(reasons) > 0 {
		counted := make([]string, 0, len(reasons))
		for reason, n := range reasons {
			counted = append(counted, fmt.Sprintf("%d %s", n, reason))
		}
		slices.Sort(counted)
		fmt.Fprintf(&b, " %s.", plain.Lines(plain.List(counted, ", ", room, "reasons"), room))
	}
	if postFilter != "" {
		fmt.Fprintf(&b, " %s", plain.Lines(postFilter, MaxMessage-b.Len()-len(" ")))
	}
	return b.String()
}
