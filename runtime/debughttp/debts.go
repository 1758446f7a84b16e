package debughttp

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// DebtsPath is the path to list debts of preemptions, and to forgive one.
const DebtsPath = "/debug/berth/debts"

// Debt is room that others made for a pod that is not bound yet.
type Debt struct {
	// Owner is the namespace that owes, or the pod, as NAMESPACE/NAME, if a module for all namespaces applies to it.
	Owner string `json:"owner"`
	// For is the pod, as NAMESPACE/NAME.
	For   string    `json:"for"`
	Since time.Time `json:"since"`
	// Until is when the debt decays.
	Until time.Time `json:"until"`
}

// Debts answers for the debts of a scheduler.
type Debts struct {
	// List returns the debts that are open, sorted.
	List func(ctx context.Context) ([]Debt, error)
	// Forgive ends the debt of an owner. It reports whether there was one.
	Forgive func(ctx context.Context, owner string) (bool, error)
	// Leader is as in Config.
	Leader func() (identity string, here bool)
}

// WithDebts adds an endpoint that lists debts, and forgives the one whose owner is posted there. As with WithLevel, serve it
// only to the scheduler's own user.
func WithDebts(handler http.Handler, d Debts, log *slog.Logger) http.Handler {
	c := &Config{Leader: d.Leader}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET "+DebtsPath, c.asLeader(func(w http.ResponseWriter, r *http.Request) {
		list, err := d.List(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer(w, list)
	}))
	mux.HandleFunc("POST "+DebtsPath, c.asLeader(func(w http.ResponseWriter, r *http.Request) {
		body, err := bounded.All(r.Body, 1<<10) // longer than any name
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		owner := strings.TrimSpace(string(body))
		switch owed, err := d.Forgive(r.Context(), owner); {
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case !owed:
			http.Error(w, "no debt of "+owner+" is open", http.StatusNotFound)
		default:
			log.Info("debt of preemptions forgiven", "owner", owner)
			answer(w, []Debt{})
		}
	}))
	return mux
}
