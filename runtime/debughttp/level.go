package debughttp

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// LevelPath is the path to read and change the log level, as in kube-scheduler.
const LevelPath = "/debug/flags/v"

// Silent is the level none, above the level of all records.
const Silent = slog.Level(math.MaxInt32)

// DebugVerbosity is the lowest of kube-scheduler's verbosities that corresponds to level debug.
const DebugVerbosity = 4

// ParseLevel reads debug, info, warn, error or none.
func ParseLevel(text string) (slog.Level, error) {
	if strings.EqualFold(text, "none") {
		return Silent, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return 0, fmt.Errorf("%q is not debug, info, warn, error or none", text)
	}
	return level, nil
}

// FormatLevel is the inverse of ParseLevel.
func FormatLevel(level slog.Level) string {
	if level >= Silent {
		return "none"
	}
	return strings.ToLower(level.String())
}

// WithLevel adds an endpoint to read and change the log level. It does not authorize requests,
// so serve it only to the scheduler's own user.
func WithLevel(handler http.Handler, level *slog.LevelVar, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET "+LevelPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, FormatLevel(level.Level())) // the client may be gone
	})
	mux.HandleFunc("PUT "+LevelPath, func(w http.ResponseWriter, r *http.Request) {
		body, err := bounded.All(r.Body, 64) // longer than any level
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text := strings.TrimSpace(string(body))
		next, err := ParseLevel(text)
		if v, notNumber := strconv.ParseUint(text, 10, 31); notNumber == nil { // kube-scheduler's verbosity
			next, err = slog.LevelInfo, nil
			if v >= DebugVerbosity {
				next = slog.LevelDebug
			}
		}
		if err != nil {
			http.Error(w, "the log level: "+err.Error(), http.StatusBadRequest)
			return
		}
		before := level.Level()
		level.Set(next)
		log.Info("log level changed", "from", FormatLevel(before), "to", FormatLevel(next))
		_, _ = fmt.Fprintln(w, FormatLevel(next))
	})
	return mux
}
