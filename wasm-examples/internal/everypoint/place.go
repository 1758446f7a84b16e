package everypoint

import (
	"strconv"
	"strings"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Reserve runs steps, like the points below.
func (p *EveryPoint) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	return p.do(call{pod: pod, node: &node}, pod.Annotation(p.at.reserve))
}

// Unreserve runs steps.
func (p *EveryPoint) Unreserve(pod berth.Pod, node berth.Node) berth.Status {
	return p.do(call{pod: pod, node: &node}, pod.Annotation(p.at.unreserve))
}

// Permit runs steps, including wait.
func (p *EveryPoint) Permit(pod berth.Pod, node berth.Node) (time.Duration, berth.Status) {
	for verb, rest := range steps(p.Text(pod.Annotation(p.at.permit))) {
		if verb == "wait" {
			return duration(rest), berth.Wait
		}
		if status, ended := p.step(call{pod: pod, node: &node}, verb, rest); ended {
			return 0, status
		}
	}
	return 0, berth.Success
}

// duration reads a number and a unit; 0 if invalid.
func duration(s string) time.Duration {
	digits := strings.TrimRight(s, "ms")
	unit, known := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute}[s[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 31)
	if !known || err != nil {
		return 0
	}
	return time.Duration(n) * unit
}

// PreBind runs steps.
func (p *EveryPoint) PreBind(pod berth.Pod, node berth.Node) berth.Status {
	return p.do(call{pod: pod, node: &node}, pod.Annotation(p.at.preBind))
}

// Bind runs steps; unless one of them is bind, it leaves the pod to the next plugin.
func (p *EveryPoint) Bind(pod berth.Pod, node berth.Node) berth.Status {
	answer := berth.Skip
	for verb, rest := range steps(p.Text(pod.Annotation(p.at.bind))) {
		if status, ended := p.step(call{pod: pod, node: &node}, verb, rest); ended {
			return status
		}
		if verb == "bind" {
			answer = berth.Success
		}
	}
	return answer
}

// PostBind runs steps.
func (p *EveryPoint) PostBind(pod berth.Pod, node berth.Node) berth.Status {
	return p.do(call{pod: pod, node: &node}, pod.Annotation(p.at.postBind))
}
