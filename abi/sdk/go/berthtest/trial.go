package berthtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Guest is an instance of a plugin: a berth.Native, or one of a module.
type Guest interface {
	Memory() []byte
	Alloc(size, align uint32) uint32
	Configure(address, length uint32) int32
	Call(export string, call, lo, hi uint32) int32
	Exports() []string
}

var _ Guest = (*berth.Native)(nil)

// Factory makes instances of a plugin.
type Factory func(host berth.Host) Guest

// Native makes instances of a plugin as native code; plugin is its constructor.
func Native[P berth.Plugin](plugin func() P) Factory {
	return func(host berth.Host) Guest { return berth.NewNative(plugin(), host) }
}

// Trial tries to place pods on nodes with one plugin.
type Trial struct {
	// Nodes is the cluster.
	Nodes []Node

	tb       testing.TB
	manifest *Manifest
	guest    Factory
	config   string
	host     *host
}

// New returns a trial of a plugin. An empty config is `{}`.
func New(tb testing.TB, manifest []byte, guest Factory, config string) *Trial {
	tb.Helper()
	m, err := parseManifest(manifest)
	if err != nil {
		tb.Fatalf("manifest: %v", err)
	}
	if config == "" {
		config = "{}"
	}
	t := &Trial{tb: tb, manifest: m, guest: guest, config: config, host: &host{}}
	t.checkExports()
	return t
}

// checkExports holds the manifest's points against the plugin's methods (ABI-9.3).
func (t *Trial) checkExports() {
	t.tb.Helper()
	exports := t.guest(t.host).Exports()
	for point, export := range map[abi.Point]string{
		abi.PreFilter: abi.ExportPreFilter, abi.Filter: abi.ExportFilter, abi.PreScore: abi.ExportPreScore,
		abi.Score: abi.ExportScore, abi.Normalize: abi.ExportNormalize,
	} {
		if has, declared := slices.Contains(exports, export), t.manifest.exports(point); has != declared {
			t.tb.Fatalf("the manifest declares %v: %v; the plugin has its method: %v", point, declared, has)
		}
	}
}

// Verdict is what a plugin says of one node.
type Verdict struct {
	Node    string
	Code    abi.Code
	Reasons []string
	// Score is the normalised score, if the plugin scores and the node passed.
	Score int64
}

// String is like `node Unschedulable: reason, reason` or `node Success 100`.
func (v Verdict) String() string {
	if v.Code != abi.Success {
		if len(v.Reasons) == 0 {
			return fmt.Sprintf("%s %v", v.Node, v.Code)
		}
		return fmt.Sprintf("%s %v: %s", v.Node, v.Code, strings.Join(v.Reasons, ", "))
	}
	return fmt.Sprintf("%s %v %d", v.Node, v.Code, v.Score)
}

// Refused tries the configuration alone, and returns what the plugin logged if it
// refused it.
func (t *Trial) Refused() (why string, refused bool) {
	_, err := t.instance()
	if err == nil {
		return "", false
	}
	return err.Error(), true
}

// instance makes an instance and hands it the configuration.
func (t *Trial) instance() (Guest, error) {
	g := t.guest(t.host)
	if !slices.Contains(g.Exports(), abi.ExportConfigure) {
		return g, nil
	}
	address := g.Alloc(uint32(len(t.config)), 1)
	copy(g.Memory()[address:], t.config)
	if g.Configure(address, uint32(len(t.config))) != 0 {
		return nil, fmt.Errorf("configuration refused: %s", t.host.last)
	}
	return g, nil
}

// Place tries to place a pod and returns a verdict for each node, in the order of
// Nodes. It fails the test if ways that must agree do not.
func (t *Trial) Place(pod Pod) []Verdict {
	t.tb.Helper()
	inOrder := numbering{order: perm(len(t.Nodes), nil), seed: t.seed()}
	want := t.try(pod, inOrder, once)
	t.same("a fresh instance for every call", want, t.try(pod, inOrder, once|fresh))
	t.same("calls on a list of rows", want, t.try(pod, inOrder, once|listed))
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		other := numbering{order: r.Perm(len(t.Nodes)), rand: r, seed: t.seed()}
		t.same("rows, ids and slots numbered otherwise", want, t.try(pod, other, once))
		if t.manifest.Sharded() {
			other.rand = rand.New(rand.NewPCG(seed, 2))
			t.same("rows split over calls", want, t.try(pod, other, 0))
			t.same("rows split over calls, each in a fresh instance", want, t.try(pod, other, fresh))
		}
	}
	if t.manifest.Scope(abi.Filter) == abi.ScopeNode {
		t.overlays(pod, inOrder, want)
	}
	return want
}

// seed is the header's: 0 where the plugin must not use it (ABI-4.1).
func (t *Trial) seed() uint64 {
	if t.manifest.Sharded() {
		return 0
	}
	return 42
}

func (t *Trial) same(how string, want, got []Verdict) {
	t.tb.Helper()
	for i := range want {
		if want[i].String() != got[i].String() {
			t.tb.Errorf("%s: one call in one instance gives %q, with %s it gives %q", t.manifest.Name, want[i], how, got[i])
		}
	}
}
