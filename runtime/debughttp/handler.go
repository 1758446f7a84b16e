package debughttp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics/prometheus/slis"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/internal/plain"
)

// Paths of what is Berth's own.
const (
	ExplainPath = "/debug/berth/explain/" // and NAMESPACE/POD
	PluginsPath = "/debug/berth/plugins"
)

// OpenPaths are answered to everyone, as kube-scheduler does by default.
func OpenPaths() []string {
	return []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*"}
}

// Config is what is served.
type Config struct {
	// Live and Ready are checked by /livez and /readyz; /healthz checks Live.
	Live, Ready []healthz.HealthChecker
	// Metrics and Resources are /metrics and /metrics/resources.
	Metrics, Resources http.Handler
	// Configuration is shown by /configz, under kube-scheduler's key componentconfig.
	Configuration *configv1.KubeSchedulerConfiguration
	Recorder      *Recorder
	// Lookup returns a pod of the cluster, whichever scheduler it is for; nil if there is
	// none of that name. The pod is only read.
	Lookup func(ctx context.Context, pod types.NamespacedName) (*v1.Pod, error)
	// Where tells where a pod is now in the scheduler; empty if it is not known there.
	Where func(ctx context.Context, pod types.NamespacedName) (string, error)
	// Plugins is what runs.
	Plugins func(ctx context.Context) (*Plugins, error)
	// Leader tells who leads, by its identity in the Lease, and whether that is this
	// replica; empty if nobody is known to. Only the leader knows of tries.
	Leader func() (identity string, here bool)
	// Profiling serves /debug/pprof.
	Profiling bool
}

// Pod is the answer about a pod.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Where is the pod's place: a queue, binding, waiting; empty if the scheduler does
	// not know of it as a pod to schedule.
	Where string `json:"where,omitempty"`
	// Last is the last try; nil if none is remembered.
	Last *Explanation `json:"last,omitempty"`
	// Cluster is the pod in the cluster; nil if there is none of that name any more, or if
	// ClusterError says why that is not known.
	Cluster      *ClusterPod `json:"cluster,omitempty"`
	ClusterError string      `json:"clusterError,omitempty"`
	// Profiles are the scheduler names whose pods this scheduler places.
	Profiles []string `json:"profiles"`
}

// NewHandler serves what Config says.
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
	mux.HandleFunc("GET "+ExplainPath+"{namespace}/{name}", c.explain)
	mux.HandleFunc("GET "+PluginsPath, func(w http.ResponseWriter, r *http.Request) {
		out, err := c.Plugins(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if leader, here := c.Leader(); !here {
			out.Standby, out.Leader = true, leader
		}
		answer(w, out)
	})
	if c.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", unhurried(pprof.Profile))
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", unhurried(pprof.Trace))
	}
	return mux
}

// unhurried is a handler that takes as long as it is asked to: the end of the time to read
// a request would end it, too.
func unhurried(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // or it ends with that time
		handle(w, r)
	}
}

// reading is a mux that nobody can write to.
type reading struct{ *http.ServeMux }

func (m reading) Handle(path string, handler http.Handler) { m.ServeMux.Handle("GET "+path, handler) }

func (c *Config) explain(w http.ResponseWriter, r *http.Request) {
	name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if leader, here := c.Leader(); !here {
		text := "this replica does not lead: " + leader + " does; ask that one"
		if leader == "" {
			text = "this replica does not lead, and none is known to; ask again when one does"
		}
		http.Error(w, text, http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	where, err := c.Where(ctx, name)
	if err != nil {
		http.Error(w, fmt.Sprintf("the scheduler does not answer: %v", err), http.StatusServiceUnavailable)
		return
	}
	out := Pod{Namespace: name.Namespace, Name: name.Name, Where: where, Profiles: c.profiles()}
	if last, ok := c.Recorder.Last(name); ok {
		out.Last = &last
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
	switch {
	case out.Where != "" || out.Last != nil || out.Cluster != nil:
		answer(w, &out)
	case err != nil:
		http.Error(w, fmt.Sprintf("pod %s is neither waiting nor among the last pods that were tried, and the API server does not tell of it: %v", name, err),
			http.StatusServiceUnavailable)
	default:
		http.Error(w, fmt.Sprintf("there is no pod %s in the cluster, and none of that name is among the last that were tried", name), http.StatusNotFound)
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
	_, _ = w.Write(append(plain.JSON(data), '\n')) // who has asked may be gone
}
