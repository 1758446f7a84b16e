package scaffold

import (
	"fmt"
	"strings"
)

// scenario returns the test of a plugin with the points: for each of them commands, with the
// answers that the plugin has to give.
func (c choice) scenario() string {
	s := &scenario{choice: c}
	if c.Has("preFilter", "filter", "postFilter", "preScore", "score", "normalize") {
		s.cycle()
	}
	if c.Has("addPod") {
		s.peers()
	}
	s.queue()
	if c.Has("reserve", "permit", "preBind", "bind", "postBind") {
		s.place()
	}
	return strings.TrimPrefix(s.out.String(), "\n")
}

type scenario struct {
	choice
	out strings.Builder
}

// lines writes lines, each of which may be empty text to leave it out.
func (s *scenario) lines(all ...string) {
	for _, line := range all {
		if line != "" {
			s.out.WriteString(line + "\n")
		}
	}
}

// begin begins with an empty cluster.
func (s *scenario) begin(cluster ...string) {
	s.lines("\nconfig {}\n")
	s.lines(cluster...)
}

// command writes a command and its output.
func (s *scenario) command(line string, output ...string) {
	s.lines("\n" + line)
	s.lines("----")
	s.lines(output...)
}

// when returns a line if a point is chosen.
func (s *scenario) when(point, line string) string {
	if !s.Has(point) {
		return ""
	}
	return line
}

// cycle is about the points at which nodes are judged.
func (s *scenario) cycle() {
	s.begin("node a labels=example.com/maintenance:soon", "node b labels=example.com/tier:gold", "node c")
	best := 0
	switch {
	case s.Has("normalize"):
		best = 100
	case s.Has("score"):
		best = 50
	}
	soon := "a Success 0"
	if s.Has("filter") {
		soon = "a UnschedulableAndUnresolvable: node(s) had maintenance soon"
	}
	s.command("try default/web", soon, fmt.Sprintf("b Success %d", best), "c Success 0")
	if s.Has("preFilter", "preScore") {
		judged, scored := soon, best
		if s.Has("preFilter") {
			judged = "a Success 0"
		}
		if s.Has("preScore") {
			scored = 0
		}
		s.command("try kube-system/agent", judged, fmt.Sprintf("b Success %d", scored), "c Success 0")
	}
	if !s.Has("postFilter") {
		return
	}
	if s.Has("filter") {
		s.command("try default/web rejected=b,c", soon, "b Unschedulable: by another plugin", "c Unschedulable: by another plugin",
			"post_filter Success", "  nominate b")
		return
	}
	s.command("try default/web rejected=a,b,c", "a Unschedulable: by another plugin", "b Unschedulable: by another plugin",
		"c Unschedulable: by another plugin", "post_filter Success", "  nominate a")
}

// peers is about what the state counts.
func (s *scenario) peers() {
	s.begin("node a", "node b", "pod default/one node=a", "pod default/two node=b", "pod other/three node=b")
	full := func(node string) string {
		if s.Counts() {
			return node + " Unschedulable: namespace has 2 pods or more"
		}
		return node + " Success 0"
	}
	nominated := s.Counts() && s.Has("postFilter")
	output := []string{full("a"), full("b")}
	if nominated {
		output = append(output, "post_filter Success", "  nominate a")
	}
	s.command("try default/web", output...)
	s.command("try default/web without=default/two", full("a"), "b Success 0")
	s.begin("node a", "node b", "pod default/one node=a", "nominated default/soon node=b priority=10")
	s.command("try default/web", "a Success 0", full("b"))
}

// queue is about the points before a cycle.
func (s *scenario) queue() {
	if s.Has("preEnqueue") {
		s.begin("pending default/web", "pending default/held annotations=example.com/hold:true")
		s.command("pre_enqueue", "default/web Success", "default/held Unschedulable: pod is on hold")
	}
	if s.Has("queueSort") {
		s.begin("pending default/batch", "pending default/urgent priority=10") // by their names the other way round
		s.command("queue_key", "default/urgent", "default/batch")
	}
	if s.Has("hint") {
		s.begin("pending default/web")
		s.command("hint Node UpdateNodeLabel\n  old a labels=example.com/maintenance:soon\n  new a", "default/web Queue")
		s.command("hint Node UpdateNodeLabel\n  old a\n  new a labels=example.com/maintenance:soon", "default/web QueueSkip")
	}
}

// place is about the points after a node is chosen.
func (s *scenario) place() {
	s.begin("node a")
	reserved := []string{"a Success 0", s.when("reserve", "reserve a Success"), s.when("reserve", "  annotate example.com/reserved-on=a")}
	s.command("schedule default/web", append(reserved, s.when("permit", "permit a Success"),
		s.when("preBind", "pre_bind a Success"), s.when("preBind", "  annotate example.com/prepared=true"),
		s.when("bind", "bind a Success"), s.when("bind", "  bind"), "bound to a", s.when("postBind", "post_bind a Success"))...)
	released := []string{s.when("unreserve", "unreserve a Success"), "pending"}
	if s.Has("permit") {
		s.command("schedule default/slow annotations=example.com/wait:true", append(reserved, "permit a Wait 30s", "waits")...)
		for i, line := range released {
			if line != "" { // it is not about the pod that is scheduled
				released[i] = "default/slow: " + line
			}
		}
		s.command("timeout default/slow", released...)
	} else if s.Has("unreserve") {
		s.command("schedule default/slow fails=pre_bind", append(append(reserved, "another plugin rejects it at pre_bind"), released...)...)
	}
}
