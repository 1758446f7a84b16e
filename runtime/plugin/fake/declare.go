package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Deps are the dependencies of plugins; both may be nil.
type Deps struct {
	Log *scenario.Log
	// Bind makes the bindings of plugins without a bind answer.
	Bind func(p *plugin.Placement) error
}

// points returns the keys that add a plugin to a point.
func points() map[string]abi.Point {
	return map[string]abi.Point{
		"gate": abi.PreEnqueue, "sort": abi.QueueSort, "prefilter": abi.PreFilter, "filter": abi.Filter,
		"fit": abi.Filter, "added": abi.Filter, "needs": abi.Filter, "annotated": abi.Filter,
		"overlay":    abi.Filter,
		"postfilter": abi.PostFilter, "prescore": abi.PreScore,
		"score": abi.Score, "reserve": abi.Reserve, "permit": abi.Permit, "prebind": abi.PreBind,
		"bind": abi.Bind, "postbind": abi.PostBind,
	}
}

// Answers are the options that Set accepts, as a signature of package scenario. Besides those
// of points:
//
//	nominate           PostFilter's nomination; empty clears it, absent leaves it unchanged
//	victims            PostFilter's victims on the node that it nominates, if they are there
//	clear-nominations  the pods whose nominations are cleared
//	preflight          PreBind's preflight
//	normalize          max, reverse or a code
//	addpod             the plugin has PreFilterExtensions; added rejects after AddPod
//	patch              Reserve's annotation
//	hint               queue, skip or error
const Answers = "[gate=ANSWERS] [sort=ANSWERS] [prefilter=ANSWERS] [filter=ANSWERS] [fit=ANSWERS] [added=ANSWERS] " +
	"[needs=ANSWERS] [annotated=ANSWERS] [overlay=ANSWERS] [postfilter=ANSWERS] [prescore=ANSWERS] " +
	"[score=ANSWERS] [reserve=ANSWERS] [permit=ANSWERS] [prebind=ANSWERS] [bind=ANSWERS] [postbind=ANSWERS] [nominate=NODE] [victims=POD|POD] " +
	"[clear-nominations=POD|POD] [preflight=ANSWERS] [normalize=ANSWERS] [addpod=ANSWERS] [patch=KEY:VALUE] " +
	"[hint=ANSWERS] [*-allow=POD;POD] [*-reject=POD;POD] [*-activate=POD;POD]"

// Options are the options that Declare accepts.
const Options = Answers + " [weight=INT] [scope=node|cluster] [enforces=FEATURE,…] [digest=TEXT] [namespaces=NAME,…] [budget=INT]" +
	" [attempts=INT] [holds=yes] [retry=DURATION] [events=RESOURCE/ACTION,…]"

// Declare makes a plugin from Options. The result is a *Plugin, or a type that embeds it.
func Declare(name string, options scenario.Args, deps Deps) (plugin.Plugin, error) {
	if err := scenario.Check("[NAME…] "+Options, options); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	// Its rules refer to pods by name.
	info := plugin.Info{Name: name, Reads: plugin.Whole(abi.PodWhole), NodeScoped: []abi.Point{abi.Filter, abi.Score}}
	info.ByPriority = options.Has("sort")
	p := &Plugin{info: info, log: deps.Log, bind: deps.Bind, answers: map[string][]rule{}}
	byKey := points()
	for _, key := range options.Keys {
		value := options.Options[key]
		var err error
		switch key {
		case "weight":
			p.Weight = int64(scenario.Int(value))
		case "scope":
			if value == "cluster" {
				p.info.NodeScoped = nil
			}
		case "digest":
			p.info.Digest = value
		case "namespaces":
			p.info.Namespaces = slices.Sorted(slices.Values(strings.Split(value, ",")))
		case "budget":
			n := scenario.Int(value)
			p.info.Budget.Pending, p.info.Budget.Wakeups, p.info.Budget.Activations = n, n, n
		case "attempts":
			p.info.Budget.All = scenario.Int(value)
		case "holds":
			p.info.Holds = true
		case "retry": // of gate, prefilter, reserve and permit
			p.retry, err = time.ParseDuration(value)
		case "enforces":
			for _, f := range strings.Split(value, ",") {
				feature, ok := state.ParseFeature(f)
				if !ok {
					err = fmt.Errorf("unknown feature %q", f)
				}
				p.info.Enforces |= feature
			}
		case "events":
			err = p.events(value)
		default:
			err = p.Set(key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %s: %w", name, key, err)
		}
		if point, ok := byKey[key]; ok && !slices.Contains(p.Points, point) {
			p.Points = append(p.Points, point)
		}
	}
	switch {
	case options.Has("addpod"):
		return extended{p}, nil
	case options.Has("normalize"):
		return normalizing{p}, nil
	}
	return p, nil
}

// Of returns the *Plugin inside a plugin from Declare.
func Of(p plugin.Plugin) *Plugin {
	switch p := p.(type) {
	case extended:
		return p.Plugin
	case normalizing:
		return p.Plugin
	}
	return p.(*Plugin)
}

// Set replaces the answers of a key.
func (p *Plugin) Set(key, value string) error {
	var rules []rule
	for _, part := range strings.Split(value, ";") {
		r := rule{subject: "*"}
		text := part
		if subject, rest, ok := strings.Cut(part, "="); ok {
			r.subject, text = subject, rest
		}
		r.answer = parseAnswer(text)
		if r.answer.code == abi.Wait {
			if _, err := time.ParseDuration(r.answer.text); err != nil {
				return err
			}
		}
		if !r.answer.status {
			if err := checkText(key, r.answer.text); err != nil {
				return err
			}
		}
		rules = append(rules, r)
	}
	p.answers[key] = rules
	return nil
}

// checkText refuses an answer that is neither a code nor another value that the key accepts.
func checkText(key, text string) error {
	others := map[string]string{"fit": "yes", "normalize": "max reverse", "hint": "queue"}
	switch key {
	case "score":
		_, err := strconv.ParseInt(text, 10, 64)
		return err
	case "prefilter", "nominate", "victims", "clear-nominations", "patch":
		return nil
	}
	if text == "" || strings.Contains(key, "-") || slices.Contains(strings.Fields(others[key]), text) {
		return nil
	}
	return fmt.Errorf("unknown answer %q", text)
}

func parseAnswer(text string) answer {
	codes := map[string]abi.Code{
		"ok": abi.Success, "error": abi.Error, "unschedulable": abi.Unschedulable, "unresolvable": abi.UnschedulableAndUnresolvable,
		"wait": abi.Wait, "skip": abi.Skip, "pending": abi.Pending, "bad": abi.Code(99),
	}
	name, rest, _ := strings.Cut(text, ":")
	if code, ok := codes[name]; ok {
		return answer{code: code, text: rest, status: true}
	}
	return answer{text: strings.TrimPrefix(text, "rows:")}
}

// events registers events; the answers of the key hint are the hints.
func (p *Plugin) events(value string) error {
	for _, name := range strings.Split(value, ",") {
		event, ok := ParseEvent(name)
		if !ok {
			return fmt.Errorf("unknown event %q", name)
		}
		p.info.Events = append(p.info.Events, plugin.Event{ClusterEvent: event, Hint: p.hint})
	}
	return nil
}

func (p *Plugin) hint(pod *state.Pod, object state.Object) (state.Hint, error) {
	a, _ := p.at("hint", pod.Name)
	p.log.Printf("  %s.hint %s: %s", p.info.Name, pod.Name, subject(object))
	switch {
	case a.status && a.code == abi.Error:
		return state.QueueSkip, p.status("hint", pod.Name).AsError()
	case a.status && a.code == abi.Skip:
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// subject describes the object of an event.
func subject(o state.Object) string {
	var out []string
	add := func(ok bool, format string, name func() string) {
		if ok {
			out = append(out, fmt.Sprintf(format, name()))
		}
	}
	add(o.OldPod != nil, "old pod %s", func() string { return o.OldPod.Name })
	add(o.NewPod != nil, "new pod %s", func() string { return o.NewPod.Name })
	add(o.OldNode != nil, "old node %s", func() string { return o.OldNode.Name })
	add(o.NewNode != nil, "new node %s", func() string { return o.NewNode.Name })
	return strings.Join(out, ", ")
}

// ParseEvent parses an event such as Node/Add; * is the wildcard.
func ParseEvent(text string) (state.ClusterEvent, bool) {
	if text == "*" {
		return state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}, true
	}
	actions := map[string]state.Action{
		"Add": state.Add, "Delete": state.Delete, "Update": state.Update, "UpdateNodeAllocatable": state.UpdateNodeAllocatable,
		"UpdateNodeLabel": state.UpdateNodeLabel, "UpdateNodeTaint": state.UpdateNodeTaint, "UpdatePodLabel": state.UpdatePodLabel,
		"UpdatePodSchedulingGatesEliminated": state.UpdatePodSchedulingGatesEliminated,
	}
	i := strings.LastIndex(text, "/")
	if i < 0 {
		return state.ClusterEvent{}, false
	}
	action, ok := actions[text[i+1:]]
	return state.ClusterEvent{Resource: state.EventResource(text[:i]), Action: action}, ok
}
