// Package fake has plugins, pods and nodes for tests that are declared in a few words in
// scenario files (package scenario). Only tests import it.
//
// A plugin is a name and key=value options; each key that names an extension point adds the
// plugin to that point. A value is a list of answers separated by semicolons, each a code with
// its text after a colon, for one subject (a pod, or at a filter a node) or for all:
//
//	Fit filter=a=unschedulable:"too small";*=ok score=a=10;b=20 weight=2
//
// Options lists the keys.
package fake

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Plugin is at the points that its declaration names.
type Plugin struct {
	// Weight and Points are for the plugin's profile.
	Weight int64
	Points []abi.Point

	info    plugin.Info
	log     *scenario.Log
	bind    func(p *plugin.Placement) error
	answers map[string][]rule
	retry   time.Duration
}

// rule is the answer for one subject; * is every subject.
type rule struct {
	subject string
	answer  answer
}

type answer struct {
	code   abi.Code
	text   string
	status bool // if status, code and text are the answer; otherwise text belongs to the point
}

// Info describes the plugin.
func (p *Plugin) Info() *plugin.Info { return &p.info }

// at returns the answer of a key for a subject.
func (p *Plugin) at(key, subject string) (answer, bool) {
	for _, r := range p.answers[key] {
		if r.subject == subject || r.subject == "*" {
			return r.answer, true
		}
	}
	return answer{}, false
}

// status returns the answer of a key as a status; the default is success.
func (p *Plugin) status(key, subject string) *plugin.Status {
	a, ok := p.at(key, subject)
	if !ok || !a.status || a.code == abi.Success {
		return nil
	}
	if a.code == abi.Error {
		return plugin.Fail(errors.New(a.text))
	}
	if a.text == "" {
		return plugin.NewStatus(a.code)
	}
	return plugin.NewStatus(a.code, strings.Split(a.text, "|")...)
}

// call logs a call about a pod.
func (p *Plugin) call(point string, pod *state.Pod) {
	p.log.Printf("  %s.%s %s", p.info.Name, point, pod.Name)
}

// PreEnqueue implements plugin.PreEnqueue.
func (p *Plugin) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		if !p.info.MayActOn(pod.Namespace) {
			continue
		}
		p.call("gate", pod)
		if out[i] = p.status("gate", pod.Name); out[i] != nil {
			out[i].RetryAfter = p.retry
		}
	}
}

// Less implements plugin.QueueSort as PrioritySort does.
func (p *Plugin) Less(a, b *state.QueuedPod) bool {
	if a.Pod.Priority != b.Pod.Priority {
		return a.Pod.Priority > b.Pod.Priority
	}
	return a.Timestamp.Before(b.Timestamp)
}

// PreFilter implements plugin.PreFilter.
func (p *Plugin) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	p.call("prefilter", c.Pod)
	c.State.RetryAfter(p.info.Name, p.retry)
	c.State.Write(p.info.Name, "added", added(0))
	a, ok := p.at("prefilter", c.Pod.Name)
	if !ok || a.status {
		return nil, p.status("prefilter", c.Pod.Name)
	}
	rows := []uint32{}
	for row := range uint32(c.Snapshot.Len()) {
		if strings.Contains(","+a.text+",", ","+c.Snapshot.Name(row)+",") {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// added is the number of AddPod calls.
type added int

// Clone implements state.Value.
func (a added) Clone() state.Value { return a }

// PostFilter implements plugin.PostFilter.
func (p *Plugin) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	var codes []string
	for row, code := range d.Codes {
		codes = append(codes, fmt.Sprintf("%s=%s", c.Snapshot.Name(uint32(row)), code))
	}
	p.log.Printf("  %s.postfilter %s %s", p.info.Name, c.Pod.Name, strings.Join(codes, " "))
	var result plugin.PostFilterResult
	if a, ok := p.at("nominate", c.Pod.Name); ok {
		result = plugin.PostFilterResult{Override: true, NominatedNode: a.text}
		result.Preemption = p.preemption(c)
	}
	asked := p.directives("postfilter")
	result.Allow, result.Reject = asked.Allow, asked.Reject
	return result, p.status("postfilter", c.Pod.Name)
}

// preemption returns the declared victims and cleared nominations.
func (p *Plugin) preemption(c *plugin.Cycle) (out plugin.Preemption) {
	victims, _ := p.at("victims", c.Pod.Name)
	for _, name := range strings.Split(victims.text, "|") {
		for _, pod := range c.Snapshot.Pods.Pod {
			if pod != nil && pod.Name == name {
				out.Victims = append(out.Victims, pod)
			}
		}
	}
	if void, ok := p.at("clear-nominations", c.Pod.Name); ok {
		for _, name := range strings.Split(void.text, "|") {
			out.ClearNominations = append(out.ClearNominations, types.UID(name))
		}
	}
	return out
}

// PreScore implements plugin.PreScore.
func (p *Plugin) PreScore(c *plugin.Cycle, rows []uint32) *plugin.Status {
	p.log.Printf("  %s.prescore %s", p.info.Name, names(c, rows))
	return p.status("prescore", c.Pod.Name)
}

// Reserve implements plugin.Reserve.
func (p *Plugin) Reserve(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	p.log.Printf("  %s.reserve %s on %s%s", p.info.Name, pl.Pod.Name, pl.Node.Name, annotations(pl.Pod))
	pl.State.RetryAfter(p.info.Name, p.retry)
	d := p.directives("reserve")
	if a, ok := p.at("patch", pl.Pod.Name); ok {
		k, v, _ := strings.Cut(a.text, ":")
		d.Patch.Annotations = map[string]string{k: v}
	}
	return d, p.status("reserve", pl.Pod.Name)
}

// Unreserve implements plugin.Reserve.
func (p *Plugin) Unreserve(pl *plugin.Placement) plugin.Directives {
	p.log.Printf("  %s.unreserve %s%s", p.info.Name, pl.Pod.Name, annotations(pl.Pod))
	return p.directives("unreserve")
}

func annotations(pod *state.Pod) string {
	if len(pod.Object.Annotations) == 0 {
		return ""
	}
	return fmt.Sprintf(" %v", pod.Object.Annotations)
}

// Permit implements plugin.Permit.
func (p *Plugin) Permit(pl *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	p.call("permit", pl.Pod)
	pl.State.RetryAfter(p.info.Name, p.retry)
	status := p.status("permit", pl.Pod.Name)
	var wait time.Duration
	if status.Is(abi.Wait) {
		wait, _ = time.ParseDuration(status.Message()) // checked by Set
	}
	return wait, p.directives("permit"), status
}

// PreBindPreFlight implements plugin.PreBind.
func (p *Plugin) PreBindPreFlight(pl *plugin.Placement) *plugin.Status {
	p.call("preflight", pl.Pod)
	return p.status("preflight", pl.Pod.Name)
}

// PreBind implements plugin.PreBind.
func (p *Plugin) PreBind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	p.call("prebind", pl.Pod)
	return p.directives("prebind"), p.status("prebind", pl.Pod.Name)
}

// Bind implements plugin.Bind: it returns its own answer or the binder's.
func (p *Plugin) Bind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	p.log.Printf("  %s.bind %s to %s%s", p.info.Name, pl.Pod.Name, pl.Node.Name, annotations(pl.Pod))
	if status := p.status("bind", pl.Pod.Name); !status.Success() || p.bind == nil {
		return p.directives("bind"), status
	}
	return p.directives("bind"), plugin.Fail(p.bind(pl))
}

// PostBind implements plugin.PostBind.
func (p *Plugin) PostBind(pl *plugin.Placement) plugin.Directives {
	p.call("postbind", pl.Pod)
	return p.directives("postbind")
}

// directives returns the directives in the options POINT-allow, POINT-reject and
// POINT-activate.
func (p *Plugin) directives(point string) plugin.Directives {
	var d plugin.Directives
	for _, r := range p.answers[point+"-allow"] {
		d.Allow = append(d.Allow, types.UID(r.answer.text))
	}
	for _, r := range p.answers[point+"-activate"] {
		d.Activate = append(d.Activate, types.UID(r.answer.text))
	}
	for _, r := range p.answers[point+"-reject"] {
		d.Reject = append(d.Reject, plugin.Rejection{UID: types.UID(r.answer.text), Reason: "rejected by " + p.info.Name})
	}
	return d
}
