package breaker

import (
	"log/slog"
	"time"

	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Config says when a breaker opens, and for how long.
type Config struct {
	// Faults is how many cycles or calls in a row must be faulted at one point, and
	// OfLast how many of the last 100 at one point; 0 means 5 and 25. Of the 100, a fault that
	// used all the fuel of a cycle counts as 11, one that used half of it as 6. If Faults is
	// negative, the breaker never opens, not for the fuel of starts either.
	Faults, OfLast int
	// Backoff is how long the breaker stays open at first, and MaxBackoff at most. The
	// time doubles with each failed probe, and each time that the breaker opens again
	// within 100 calls at the point that fails. 0 means 1 s and 5 min.
	Backoff, MaxBackoff time.Duration
}

// OfTenant is the Config of a tenant's plugin: it opens sooner and stays open longer, because
// a fault also delays the pods of others that arrive meanwhile.
func OfTenant() Config { return Config{Faults: 2, OfLast: 10, Backoff: 5 * time.Second} }

func (c Config) withDefaults() Config {
	if c.Faults == 0 {
		c.Faults = 5
	}
	if c.OfLast == 0 {
		c.OfLast = 25
	}
	if c.Backoff <= 0 {
		c.Backoff = time.Second
	}
	if c.MaxBackoff <= 0 {
		c.MaxBackoff = 5 * time.Minute
	}
	c.MaxBackoff = max(c.MaxBackoff, c.Backoff)
	return c
}

// Deps is what a breaker works with.
type Deps struct {
	// Origin is the plugin that faults name.
	Origin fault.Origin
	Now    func() time.Time
	// CycleFuel is what the plugin may use in a cycle: faults are weighed by it. 0 weighs all alike.
	// RestartFuel is what all but the first starts of instances during the last 100 calls may use together.
	CycleFuel, RestartFuel int64
	// Recovered (optional) is called when the plugin works again after the breaker was
	// open.
	Recovered func()
	Log       *slog.Logger
}
