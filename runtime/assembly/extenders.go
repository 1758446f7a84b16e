package assembly

import (
	"encoding/json"
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/inbox"
)

// newExtenders makes the HTTP extenders in the configuration; nil for none.
func newExtenders(c *Config, d Deps) (*extender.Extenders, error) {
	if c.WithoutExtenders {
		return nil, nil
	}
	configs := c.Scheduler.Extenders
	if c.IgnoreBindVerbs {
		configs = slices.Clone(configs)
		for i := range configs {
			configs[i].BindVerb = ""
		}
	}
	tape := d.Tape
	if tape == nil && d.Recorder != nil {
		tape = taped(d.Recorder)
	}
	return extender.New(configs, extender.Deps{Patcher: d.Patcher, Tape: tape, Log: d.Log})
}

// taped returns a tape that tells the recorder of answers.
func taped(recorder inbox.Recorder) extender.Tape {
	return func(number int, verb string, result any, call func() error) error {
		e := &inbox.Answer{Extender: uint64(number), Verb: verb}
		err := call()
		if err != nil {
			e.Err = err.Error()
		} else if e.Result, err = json.Marshal(result); err != nil {
			return err
		}
		recorder.Enter(e)
		return err
	}
}

// leaveToExtenders returns the arguments of NodeResourcesFit with ignoredResources replaced by
// the resources that extenders handle, as kube-scheduler does. It returns other arguments
// unchanged.
func leaveToExtenders(args any, extenders []configv1.Extender) any {
	fit, ok := args.(*configv1.NodeResourcesFitArgs)
	ignored := extender.Ignored(extenders)
	if !ok || len(ignored) == 0 {
		return args
	}
	own := *fit
	own.IgnoredResources = ignored
	return &own
}
