package debughttp

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/console"
)

// Paths that the console asks, beside ExplainPath, PluginsPath and TrialsPath.
const (
	OverviewPath  = "/debug/berth/overview"
	QueuePath     = "/debug/berth/queue"
	NodesPath     = "/debug/berth/nodes"
	WorkPath      = "/debug/berth/work"
	DecisionsPath = "/debug/berth/decisions" // the last ones, and /NUMBER for all about one
)

// ConsolePaths returns the paths that the console asks. One that ends in / stands for all below it.
func ConsolePaths() []string {
	return []string{OverviewPath, QueuePath, NodesPath, WorkPath, DecisionsPath, DecisionsPath + "/", ExplainPath, PluginsPath, TrialsPath}
}

// The most pods and decisions in an answer.
const (
	maxQueued    = 1000
	maxDecisions = 500
)

// Source is what the console shows of a scheduler, besides its attempts and plugins.
type Source struct {
	// About names what is shown.
	About About
	// Now returns the time in the scheduler.
	Now func() time.Time
	// Places returns the number of pods by place, as Queued.Place names it.
	Places func(ctx context.Context) (map[string]int, error)
	// Problems (optional) says in a line each what of the scheduler fails now.
	Problems func() []string
	// Queue returns the pods that are not placed, those first that have been waiting the longest. It
	// leaves out what attempts said.
	Queue func(ctx context.Context) ([]Queued, error)
	// Nodes returns the nodes in the order of rows.
	Nodes func(ctx context.Context) ([]Node, error)
	// Work returns what all plugins did since the start.
	Work func(ctx context.Context) ([]Work, error)
}

// About says what is shown.
type About struct {
	Version string `json:"version"`
	// Recording is the file that is shown; empty for a running scheduler.
	Recording string `json:"recording,omitempty"`
}

// Overview is the state of a scheduler in a few numbers.
type Overview struct {
	About
	Now      time.Time `json:"now"`
	Profiles []string  `json:"profiles"`
	// Places has the number of pods by place, as Queued.Place names it.
	Places map[string]int `json:"places"`
	// Problems says in a line each what fails now.
	Problems []string `json:"problems,omitempty"`
	// Decisions is the number of the last attempt.
	Decisions uint64 `json:"decisions"`
}

// Queue is the pods that are not placed.
type Queue struct {
	// Total is their number. Pods are at most 1,000, those that have been waiting the longest.
	Total int      `json:"total"`
	Pods  []Queued `json:"pods"`
}

// Queued is a pod that is not placed.
type Queued struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"-"`
	Profile   string    `json:"profile"`
	Priority  int32     `json:"priority"`
	// Place is active, backoff, error-backoff, unschedulable, gated, in-flight, binding, or waiting (at Permit).
	Place string `json:"place"`
	// Since is when the pod got there, First when it was first ready to be tried.
	Since        *time.Time `json:"since,omitempty"`
	First        *time.Time `json:"first,omitempty"`
	BackoffUntil *time.Time `json:"backoffUntil,omitempty"`
	// RetryAt is when a plugin, RetryBy, has the pod tried again whatever events come.
	RetryAt  *time.Time `json:"retryAt,omitempty"`
	RetryBy  string     `json:"retryBy,omitempty"`
	Attempts int        `json:"attempts"`
	// Plugins are those that hold the pod or rejected it, and Reason says why, if that is known.
	Plugins []string `json:"plugins,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// Node is what a node has, and what of it the pods on it request.
type Node struct {
	Name          string `json:"name"`
	Unschedulable bool   `json:"unschedulable,omitempty"`
	// Taints are written KEY=VALUE:EFFECT, or KEY:EFFECT.
	Taints    []string `json:"taints,omitempty"`
	Resources []Amount `json:"resources"`
}

// Amount is an amount of a resource: cpu in thousandths, memory in bytes, others in their own unit.
type Amount struct {
	Name        string `json:"name"`
	Allocatable int64  `json:"allocatable"`
	Requested   int64  `json:"requested"`
}

// Decision is an attempt in one line.
type Decision struct {
	Sequence  uint64        `json:"sequence"`
	Namespace string        `json:"namespace"`
	Pod       string        `json:"pod"`
	Profile   string        `json:"profile"`
	Try       int           `json:"try"`
	At        time.Time     `json:"at"`
	Duration  time.Duration `json:"duration"`
	Took      time.Duration `json:"took,omitempty"`
	Outcome   string        `json:"outcome,omitempty"`
	Node      string        `json:"node,omitempty"`
	Nominated string        `json:"nominated,omitempty"`
	Message   string        `json:"message,omitempty"`
	Nodes     int           `json:"nodes"`
	Feasible  int           `json:"feasible"`
}

// NewConsole returns a handler that serves the console and what it asks, and nothing else.
func NewConsole(c Config) http.Handler {
	mux := http.NewServeMux()
	c.console(mux)
	return mux
}

func (c *Config) console(mux *http.ServeMux) {
	mux.Handle("GET "+console.Path, console.Handler())
	mux.HandleFunc("GET "+ExplainPath+"{namespace}/{name}", c.asLeader(c.explain))
	mux.HandleFunc("GET "+TrialsPath, c.asLeader(func(w http.ResponseWriter, _ *http.Request) { answer(w, c.Trials()) }))
	mux.HandleFunc("GET "+PluginsPath, c.plugins)
	mux.HandleFunc("GET "+OverviewPath, c.asLeader(asked(c.overview)))
	mux.HandleFunc("GET "+QueuePath, c.asLeader(asked(c.queue)))
	mux.HandleFunc("GET "+NodesPath, c.asLeader(asked(c.Source.Nodes)))
	mux.HandleFunc("GET "+WorkPath, c.asLeader(asked(c.Source.Work)))
	mux.HandleFunc("GET "+DecisionsPath, c.asLeader(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, c.Recorder.Recent(maxDecisions, func(*Explanation) bool { return true }))
	}))
	mux.HandleFunc("GET "+DecisionsPath+"/{sequence}", c.asLeader(c.decision))
}

// asked returns a handler that answers with what a function of the scheduler's loop returns.
func asked[T any](of func(context.Context) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		out, err := of(ctx)
		if err != nil {
			http.Error(w, fmt.Sprintf("the scheduler does not answer: %v", err), http.StatusServiceUnavailable)
			return
		}
		answer(w, out)
	}
}

// places returns the number of pods by place; none if they are not counted.
func (c *Config) places(ctx context.Context) (map[string]int, error) {
	if c.Source.Places == nil {
		return nil, nil //nolint:nilnil // as said
	}
	return c.Source.Places(ctx)
}

func (c *Config) overview(ctx context.Context) (*Overview, error) {
	places, err := c.places(ctx)
	if err != nil {
		return nil, err
	}
	out := &Overview{About: c.Source.About, Now: c.Source.Now(), Profiles: c.profiles(), Places: places}
	if c.Source.Problems != nil {
		for _, p := range c.Source.Problems() {
			out.Problems = append(out.Problems, plain.Line(p, maxLine))
		}
	}
	for _, last := range c.Recorder.Recent(1, func(*Explanation) bool { return true }) {
		out.Decisions = last.Sequence
	}
	return out, nil
}

// queue adds the reasons of the last attempts.
func (c *Config) queue(ctx context.Context) (*Queue, error) {
	all, err := c.Source.Queue(ctx)
	if err != nil {
		return nil, err
	}
	q := &Queue{Total: len(all), Pods: all[:min(len(all), maxQueued)]}
	for i := range q.Pods {
		p := &q.Pods[i]
		if p.Reason != "" {
			continue
		}
		if last, ok := c.Recorder.Last(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}); ok && last.Attempt.UID == p.UID {
			p.Reason = last.Attempt.Message
		}
	}
	return q, nil
}

func (c *Config) decision(w http.ResponseWriter, r *http.Request) {
	sequence, err := strconv.ParseUint(r.PathValue("sequence"), 10, 64)
	if err != nil {
		http.Error(w, "the decision's number is not a whole number", http.StatusBadRequest)
		return
	}
	out, ok := c.Recorder.Attempt(sequence)
	if !ok {
		http.Error(w, fmt.Sprintf("decision %d is not among the recent ones", sequence), http.StatusNotFound)
		return
	}
	answer(w, &out)
}
