package cycle_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/pipeline"
)

// services are the HTTP extenders of a world.
type services struct {
	all     []*service
	configs []configv1.Extender
}

// service is one of them. It knows nodes by name.
type service struct {
	args scenario.Args
	log  *scenario.Log
	url  string
}

// serviceOptions is the answers of a service, by verb:
//
//	keep, no, never  filter: the nodes that stay, and why others go
//	error            filter fails
//	scores           prioritize, with weight=
//	spare            preempt: the only candidates that stay, with one victim each
//
// ignorable=yes makes failures of it count for nothing.
const serviceOptions = "[keep=NODE,…] [no=NODE:REASON,…] [never=NODE:REASON,…] [error=TEXT] " +
	"[scores=NODE:INT,…] [weight=INT] [spare=NODE:POD,…] [ignorable=yes]"

// add starts a service with the verbs that it has answers for.
func (s *services) add(w *world, a scenario.Args) error {
	one := &service{args: a, log: w.log}
	server := httptest.NewServer(one)
	w.t.Cleanup(server.Close)
	one.url = server.URL
	c := configv1.Extender{URLPrefix: server.URL, NodeCacheCapable: true, Ignorable: a.Has("ignorable"), Weight: int64(max(1, scenario.Int(a.Options["weight"])))}
	if a.Has("keep") || a.Has("error") {
		c.FilterVerb = "filter"
	}
	if a.Has("scores") {
		c.PrioritizeVerb = "prioritize"
	}
	if a.Has("spare") {
		c.PreemptVerb = "preempt"
	}
	s.all, s.configs = append(s.all, one), append(s.configs, c)
	w.pipeline = nil
	for _, score := range one.pairs("scores") {
		if _, err := strconv.Atoi(score); err != nil {
			return fmt.Errorf("scores=: %w", err)
		}
	}
	return nil
}

// extend makes the extenders, and their plugin one of the profile.
func (w *world) extend() {
	if w.extender != nil || len(w.services.configs) == 0 {
		return
	}
	var err error
	if w.extender, err = extender.New(w.services.configs, extender.Deps{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.extender.Close)
	w.profile.Points[abi.Bind] = slices.Insert(w.profile.Points[abi.Bind], 0, pipeline.Entry{Plugin: w.extender.Binder()})
}

// hideURLs writes E1, E2 … for the URLs, which have other ports each time.
func (s *services) hideURLs(text string) string {
	for i, one := range s.all {
		text = strings.ReplaceAll(text, one.url, fmt.Sprintf("E%d", i+1))
	}
	return text
}

// pairs yields the parts of KEY:VALUE,KEY:VALUE.
func (s *service) pairs(option string) func(yield func(key, value string) bool) {
	return func(yield func(key, value string) bool) {
		if !s.args.Has(option) {
			return
		}
		for _, part := range strings.Split(s.args.Options[option], ",") {
			key, value, _ := strings.Cut(part, ":")
			if !yield(key, value) {
				return
			}
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		extenderv1.ExtenderArgs
		NodeNameToMetaVictims map[string]*extenderv1.MetaVictims
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer any
	switch r.URL.Path {
	case "/filter":
		s.log.Printf("  %s %s of %s", r.URL.Path, strings.Join(*asked.NodeNames, " "), asked.Pod.Name)
		answer = s.filter(*asked.NodeNames)
	case "/prioritize":
		// Not logged: several are asked at a time.
		list := extenderv1.HostPriorityList{}
		for node, score := range s.pairs("scores") {
			list = append(list, extenderv1.HostPriority{Host: node, Score: int64(scenario.Int(score))})
		}
		answer = list
	case "/preempt":
		var nodes []string
		for node, victims := range asked.NodeNameToMetaVictims {
			var uids []string
			for _, p := range victims.Pods {
				uids = append(uids, p.UID)
			}
			nodes = append(nodes, node+" without "+strings.Join(uids, " "))
		}
		slices.Sort(nodes)
		s.log.Printf("  %s %s", r.URL.Path, strings.Join(nodes, ", "))
		left := map[string]*extenderv1.MetaVictims{}
		for node, pod := range s.pairs("spare") {
			if node != "" {
				left[node] = &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: pod}}}
			}
		}
		answer = extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: left}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *service) filter(asked []string) *extenderv1.ExtenderFilterResult {
	names := []string{}
	out := &extenderv1.ExtenderFilterResult{
		NodeNames: &names, Error: s.args.Options["error"],
		FailedNodes: extenderv1.FailedNodesMap{}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
	}
	for node := range s.pairs("keep") {
		if slices.Contains(asked, node) {
			names = append(names, node)
		}
	}
	for node, reason := range s.pairs("no") {
		out.FailedNodes[node] = reason
	}
	for node, reason := range s.pairs("never") {
		out.FailedAndUnresolvableNodes[node] = reason
	}
	return out
}
