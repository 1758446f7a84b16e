package debughttp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics/prometheus/slis"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/report"
)

// Paths of Berth's own endpoints.
const (
	ExplainPath = "/debug/berth/explain/" // and NAMESPACE/POD
	PluginsPath = "/debug/berth/plugins"
	WhatIfPath  = "/debug/berth/whatif" // a question is posted there
	TrialsPath  = "/debug/berth/trials"
	AgainPath   = "/debug/berth/again" // with ?plugin=NAME&last=N
)

// OpenPaths returns the paths that need no authorization, as kube-scheduler has by default.
func OpenPaths() []string {
	return []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*"}
}

// Config is what the handler serves.
type Config struct {
	// Live is checked by /livez and /healthz, Ready by /readyz.
	Live, Ready []healthz.HealthChecker
	// Metrics and Resources serve /metrics and /metrics/resources.
	Metrics, Resources http.Handler
	// Configuration is shown by /configz, under kube-scheduler's key componentconfig.
	Configuration *configv1.KubeSchedulerConfiguration
	Recorder      *Recorder
	// Lookup returns a pod of the cluster, for any scheduler; nil if there is none of that name.
	// The pod must not be changed.
	Lookup func(ctx context.Context, pod types.NamespacedName) (*v1.Pod, error)
	// Where returns where a pod is in the scheduler; empty if the scheduler does not know it.
	Where func(ctx context.Context, pod types.NamespacedName) (string, error)
	// FailedWrite (optional) returns why a pod cannot be written; nil if it can.
	FailedWrite func(pod types.NamespacedName) *report.FailedWrite
	// Plugins returns the plugins that run.
	Plugins func(ctx context.Context) (*Plugins, error)
	// Trials returns the results of plugins in shadow.
	Trials func() any
	// WhatIf (optional) answers questions of berth whatif.
	WhatIf http.Handler
	// Again (optional) answers what a plugin would change for the pods of the last attempts.
	Again http.Handler
	// Now (optional) asks by a what-if whether a pending pod would fit by now, and for a change.
	Now func(ctx context.Context, pod *v1.Pod) (*Now, error)
	// Source is what the console shows besides.
	Source Source
	// Leader returns the leader's identity in the Lease, and whether this replica is the leader.
	// The identity is empty if no leader is known. Only the leader has attempts.
	Leader func() (identity string, here bool)
	// Profiling serves /debug/pprof.
	Profiling bool
}

// Pod is the answer to a question about a pod.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Where is the pod's place: a queue, binding, waiting. It is empty if the scheduler does not
	// know the pod as one to schedule.
	Where string `json:"where,omitempty"`
	// FailedWrite is why the pod's binding or another write of it fails and is retried; nil if none does.
	FailedWrite *report.FailedWrite `json:"failedWrite,omitempty"`
	// Binding is how many pods wait for their binding; they have their room already.
	Binding int `json:"binding,omitempty"`
	// Last is the last attempt; nil if it is not recorded.
	Last *Explanation `json:"last,omitempty"`
	// History is all attempts that are recorded, the latest first.
	History []Decision `json:"history,omitempty"`
	// Explanation is the same for programs, by docs/explanation.schema.json.
	Explanation *report.Explanation `json:"explanation,omitempty"`
	// Now is whether the pod would fit by now, if that was asked for and it is pending, or NowError says why
	// that is unknown.
	Now      *Now   `json:"now,omitempty"`
	NowError string `json:"nowError,omitempty"`
	// Cluster is the pod in the cluster. It is nil if the pod no longer exists, or if
	// ClusterError says why it is unknown.
	Cluster      *ClusterPod `json:"cluster,omitempty"`
	ClusterError string      `json:"clusterError,omitempty"`
	// Profiles are the scheduler names of this scheduler.
	Profiles []string `json:"profiles"`
}

// Now is what would become of a pending pod by now.
type Now struct {
	Code report.Outcome `json:"code"`
	// Node is where it would be; may be empty.
	Node string `json:"node,omitempty"`
	// Change is a single change with which it would fit, if it does not; nil if there is none.
	Change *report.Change `json:"change,omitempty"`
	// Tried is how many changes were tried.
	Tried int `json:"tried,omitempty"`
}

// changeQuery in the query of ExplainPath asks for Pod.Now.
const changeQuery = "change"

// WithChange returns the path of an explanation with Pod.Now.
func WithChange(path string) string { return path + "?" + changeQuery }

// NewHandler returns a handler that serves what Config has.
func NewHandler(c Config) http.Handler {
	mux := http.NewServeMux()
	healthz.InstallHandler(reading{mux}, c.Live...)
	healthz.InstallLivezHandler(reading{mux}, c.Live...)
	healthz.InstallReadyzHandler(reading{mux}, c.Ready...)
	slis.SLIMetrics{}.Install(reading{mux})
	mux.Handle("GET /metrics", c.Metrics)
	mux.Handle("GET /metrics/resources", c.Resources)
	mux.HandleFunc("GET /configz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"componentconfig": c.Configuration})
	})
	c.console(mux)
	if c.WhatIf != nil {
		mux.HandleFunc("POST "+WhatIfPath, c.asLeader(c.WhatIf.ServeHTTP))
	}
	if c.Again != nil {
		mux.HandleFunc("GET "+AgainPath, c.asLeader(unhurried(c.Again.ServeHTTP)))
	}
	if c.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", unhurried(pprof.Profile))
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", unhurried(pprof.Trace))
	}
	return mux
}

func (c *Config) plugins(w http.ResponseWriter, r *http.Request) {
	out, err := c.Plugins(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if leader, here := c.Leader(); !here {
		out.Standby, out.Leader = true, leader
	}
	answer(w, out)
}

// unhurried returns a handler without the read deadline of requests, which would also end a
// long response.
func unhurried(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the read deadline would end it
		handle(w, r)
	}
}

// reading is a mux that accepts only GET and HEAD.
type reading struct{ *http.ServeMux }

func (m reading) Handle(path string, handler http.Handler) { m.ServeMux.Handle("GET "+path, handler) }

// asLeader returns a handler that refers clients to the leader.
func (c *Config) asLeader(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		leader, here := c.Leader()
		switch {
		case here:
			handle(w, r)
		case leader == "":
			http.Error(w, "this replica is not the leader, and no leader is known; try again later", http.StatusServiceUnavailable)
		default:
			http.Error(w, "this replica is not the leader: ask "+leader, http.StatusServiceUnavailable)
		}
	}
}

func (c *Config) explain(w http.ResponseWriter, r *http.Request) {
	name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	where, err := c.Where(ctx, name)
	if err != nil {
		http.Error(w, fmt.Sprintf("the scheduler does not answer: %v", err), http.StatusServiceUnavailable)
		return
	}
	out := Pod{Namespace: name.Namespace, Name: name.Name, Where: where, Profiles: c.profiles()}
	limited := r.Context().Value(ofReader{}) != nil
	if last, ok := c.Recorder.Last(name); ok {
		if out.Last = &last; limited {
			out.Last = last.forReader(name.Namespace)
		}
	}
	if places, err := c.places(ctx); err == nil && !limited {
		out.Binding = places["binding"]
	}
	if c.FailedWrite != nil {
		if out.FailedWrite = c.FailedWrite(name); out.FailedWrite != nil {
			out.FailedWrite.Error = plain.Lines(out.FailedWrite.Error, maxLine)
		}
	}
	now, err := c.Lookup(ctx, name)
	switch {
	case err != nil:
		out.ClusterError = err.Error()
	case now != nil:
		out.Cluster = clusterPod(now)
		if out.Last != nil && out.Last.Attempt.UID != now.UID {
			out.Last = nil // of an earlier pod of that name
		}
	}
	if out.Last != nil {
		out.Explanation = report.Explain(out.Last.Attempt)
		out.History = c.Recorder.Recent(maxDecisions, func(e *Explanation) bool { return e.Attempt.UID == out.Last.Attempt.UID })
	}
	if c.Now != nil && r.URL.Query().Has(changeQuery) && now != nil && now.Spec.NodeName == "" && now.DeletionTimestamp == nil && slices.Contains(out.Profiles, now.Spec.SchedulerName) {
		c.change(r.Context(), now, &out)
	}
	switch {
	case out.Where != "" || out.Last != nil || out.Cluster != nil:
		answer(w, &out)
	case err != nil:
		http.Error(w, fmt.Sprintf("pod %s is neither waiting nor among the recent attempts, and the API server returned an error: %v", name, err),
			http.StatusServiceUnavailable)
	default:
		http.Error(w, fmt.Sprintf("there is no pod %s in the cluster or among the recent attempts", name), http.StatusNotFound)
	}
}

// change asks whether a pending pod would fit by now, and for a change.
func (c *Config) change(ctx context.Context, pod *v1.Pod, out *Pod) {
	now, err := c.Now(ctx, pod)
	if err != nil {
		out.NowError = plain.Lines(err.Error(), maxLine)
		return
	}
	out.Now = now
	if out.Explanation != nil {
		out.Explanation.Change = now.Change
	}
}

// patience is how long the loop may take to answer.
const patience = 10 * time.Second

func answer(w http.ResponseWriter, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "BUG: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff") // http.Error sets it, too
	_, _ = w.Write(append(plain.JSON(data), '\n'))      // the client may be gone
}
