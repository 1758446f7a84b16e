package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// core is what the points of a plugin and both kinds of its instances share. Its parts are
// safe for concurrent use.
type core struct {
	traits
	deps    Deps
	faults  faults
	journal journal
	counts  counts
	budget  *memory.Budget
	breaker *breaker.Breaker
	ending  breaker.Cycle // how the calls of this cycle ended
	ration  ration
	starts  starts
	// startFuel is what an instance may use to start, from the second on. It does what
	// the first one did, so it needs no more fuel; a guest that tells the two apart gains
	// nothing, since it is charged all of it.
	startFuel int64
	written   atomic.Uint64 // bytes of guest memory
	full      atomic.Bool   // there was no room for the state of the last pod
	// patched is how many bytes patches of reserve hold, by assumed pod. Only the loop uses it.
	patched map[types.UID]int
}

// newSource returns what instances are filled from.
func (c *core) newSource() source { return source{Source: mirror.NewSource(c.projection, &c.written)} }

// newHost returns the host functions of an instance, with its Env.
func (c *core) newHost(config sandbox.EnvConfig, node func(row uint32) *state.Node, l *ledger) *hostCalls {
	h := &hostCalls{
		logs: &c.journal, ledger: l, published: c.published, hidden: c.hidden, node: node, encodings: c.deps.Encodings,
	}
	config.Limits, config.Host = c.config.Limits, h
	h.env = sandbox.NewEnv(config)
	return h
}

// start makes a guest and hands it the configuration.
func (c *core) start(ctx context.Context, region uint32, env *sandbox.Env) (sandbox.Guest, error) {
	guest, err := c.deps.Factory.New(ctx, region, env)
	if err != nil {
		return nil, c.startError(err, env)
	}
	ok, err := guest.Configure(ctx, c.config.Config)
	if err == nil && !ok {
		err = errors.New("the plugin refuses its configuration")
	}
	if err != nil {
		return nil, errors.Join(c.startError(err, env), guest.Close(ctx))
	}
	return guest, nil
}

// maxSaid is how much of a guest's output the error of its start quotes, in bytes.
const maxSaid = 2 << 10

// startError is why an instance could not be started.
type startError struct {
	error
	trace string // the functions in which the guest trapped
}

// Unwrap returns the error without the functions.
func (e *startError) Unwrap() error { return e.error }

func (c *core) startError(err error, env *sandbox.Env) error {
	_, detail, trace := sandbox.TrapOf(err)
	if trace != "" {
		err = errors.New(detail)
	}
	err = plain.Error(err, fault.MaxDetail)
	if out := env.Output(); out != "" {
		return &startError{fmt.Errorf("plugin %s: %w; it said: %s", c.config.Name, err, plain.Tail(out, maxSaid)), trace}
	}
	return &startError{fmt.Errorf("plugin %s: %w", c.config.Name, err), trace}
}

// startFirst starts the plugin's first instance, to see that it accepts the configuration,
// and closes it again. It returns the fuel and the memory that the start took.
func (c *core) startFirst(ctx context.Context) (fuel int64, took memory.Started, err error) {
	env := c.newHost(sandbox.EnvConfig{StartFuel: c.config.Limits.FuelStart}, nil, &ledger{}).env
	guest, err := c.start(ctx, 0, env)
	if e := (*startError)(nil); errors.As(err, &e) && e.trace != "" && !fault.Dumped(env.Output()) {
		err = fmt.Errorf("%w\nIt trapped in:\n  %s", err, strings.ReplaceAll(plain.Lines(e.trace, maxSaid), "\n", "\n  "))
	}
	if err != nil {
		return 0, took, err
	}
	took.Memory = uint64(len(guest.Memory()))
	took.Native, took.Deep = env.Native()
	return c.config.Limits.FuelStart - env.StartFuelLeft(), took, guest.Close(ctx)
}

// startSpare is by how much a later start may exceed the first one, in units.
const startSpare = 1_000

// allocFuel returns what an instance may use to allocate its region, for columns of so many
// bytes.
func (c *core) allocFuel(columns int64) int64 {
	return min(c.config.Limits.FuelStart, sandbox.FuelOfAlloc(c.startFuel, columns))
}

// restartFuel returns what an instance with columns of so many bytes is charged when it has to
// be made again. That is what it may use, not what it uses: the sizes of regions depend on what
// was in the cluster when the others were made.
func (c *core) restartFuel(columns int64) int64 {
	return c.startFuel + c.allocFuel(columns) + sandbox.FuelOfFilling(columns)
}

// lost charges the cycle for an instance that was closed because of a fault, and has to be made again.
func (c *core) lost(f *fault.Fault, columns int64) {
	if f.Kind.OfGuest() {
		c.ending.Restart(c.restartFuel(columns))
		c.starts.pay(ofCycles)
	}
}

// affordsStarts reports whether there is fuel to replace the instances that this cycle
// lost, for a pod of a namespace.
func (c *core) affordsStarts(namespace string) bool {
	return c.breaker.Affords(namespace, c.ending.Starts())
}

// spent is the fault of a plugin whose tenant has used its fuel.
func (c *core) spent(point abi.Point, fuel int64) *fault.Fault {
	return c.faults.at(point, fault.OutOfFuel, fmt.Sprintf("the plugins of the tenant have used their %d units of this cycle", fuel), nil)
}

// namespace returns a namespace outside of cycles; nil if it is not known.
func (c *core) namespace(name string) *state.Namespace {
	if c.deps.Namespace == nil || !c.projection.SeesNamespaceLabels() {
		return nil
	}
	return c.deps.Namespace(name)
}
