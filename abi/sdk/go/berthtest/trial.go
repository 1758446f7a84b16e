package berthtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Guest is an instance of a plugin: a berth.Native, or an instance of a module.
type Guest interface {
	Memory() []byte
	Alloc(size, align uint32) uint32
	Configure(address, length uint32) int32
	// Call calls a point by the name of its export. Points whose functions have no lo and hi get
	// 0.
	Call(export string, call, lo, hi uint32) int32
	Exports() []string
}

var _ Guest = (*berth.Native)(nil)

// Factory makes instances of a plugin. The host is a berth.ObjectHost.
type Factory func(host berth.Host) Guest

// Trial is a cluster and one plugin.
type Trial struct {
	// Nodes are the cluster's nodes, and Namespaces the namespaces that have an object.
	Nodes      []Node
	Namespaces []Namespace
	// Pending are the pods to be placed, for PreEnqueue, Order and Hint.
	Pending []Pending
	// Now is the time in seconds since 1970, at points that have it.
	Now int64
	// Nominated are the pods with a nominated node.
	Nominated []Nominated
	// Published is what other plugins publish, by `plugin/key`.
	Published map[string]string
	// Publishers are other plugins, by their names in the profile: their PreFilter runs before
	// this plugin's, which reads what they publish.
	Publishers map[string]*Trial

	tb       testing.TB
	manifest *Manifest
	guest    Factory
	config   string
	host     *host
	objects  Objects // nil if nothing reads files
	waiting  []*placement
}

// New returns a trial of a plugin. An empty config means `{}`.
func New(tb testing.TB, manifest []byte, guest Factory, config string) *Trial {
	tb.Helper()
	return newTrial(tb, manifest, guest, config, Read{})
}

// newTrial returns a trial that leaves out what the manifest lists.
func newTrial(tb testing.TB, manifest []byte, guest Factory, config string, without Read) *Trial {
	tb.Helper()
	m, err := parseManifest(manifest)
	if err != nil {
		tb.Fatal(err)
	}
	if config == "" {
		config = "{}"
	}
	m = m.with(config)
	m.without = without
	t := &Trial{tb: tb, manifest: m, guest: guest, config: config, host: &host{tb: tb, manifest: m}}
	t.checkExports()
	return t
}

// checkExports compares the manifest's points with the plugin's methods (ABI-9.3).
func (t *Trial) checkExports() {
	t.tb.Helper()
	has := t.guest(t.host).Exports()
	for point, export := range exports() {
		if has, declared := slices.Contains(has, export), t.manifest.exports(point); has != declared {
			t.tb.Fatalf("the manifest declares %v: %v; the plugin has its method: %v", point, declared, has)
		}
	}
}

// Verdict is a plugin's verdict on one node, or on one pod.
type Verdict struct {
	// Node is the node's name, or a pod's as `namespace/name`.
	Node    string
	Code    abi.Code
	Reasons []string
	// RetryAfter is how soon PreEnqueue wants to be asked about the pod again; 0 leaves it to events.
	RetryAfter time.Duration
	// Score is the normalized score, if the plugin scores and the node passed.
	Score int64
}

// String returns `node Unschedulable: reason, reason` or `node Success 100`.
func (v Verdict) String() string {
	if v.Code == abi.Success {
		return fmt.Sprintf("%s %d", v.short(), v.Score)
	}
	return v.short()
}

// short is String without the score.
func (v Verdict) short() string {
	text := fmt.Sprintf("%s %v", v.Node, v.Code)
	if v.RetryAfter > 0 {
		text += ", asked again after " + v.RetryAfter.String()
	}
	if len(v.Reasons) == 0 {
		return text
	}
	return text + ": " + strings.Join(v.Reasons, ", ")
}

// Refused tries only the configuration, and returns why it is refused: the text that users get if it
// does not fit the manifest's schema, as no plugin gets it then, or what the plugin logged.
func (t *Trial) Refused() (why string, refused bool) {
	_, err := t.instance()
	if err == nil {
		return "", false
	}
	return err.Error(), true
}

// instance makes an instance and passes the configuration to it, as a host does (ABI-9.8).
func (t *Trial) instance() (Guest, error) {
	if err := t.manifest.refused; err != nil {
		return nil, fmt.Errorf("configuration refused: %w", err)
	}
	return t.configured(t.manifest.config)
}

// configured makes an instance and passes any configuration to it.
func (t *Trial) configured(config []byte) (Guest, error) {
	g := t.guest(t.host)
	if !slices.Contains(g.Exports(), abi.ExportConfigure) {
		return g, nil
	}
	address := g.Alloc(uint32(len(config)), 1)
	copy(g.Memory()[address:], config)
	if g.Configure(address, uint32(len(config))) != 0 {
		return nil, fmt.Errorf("configuration refused: %s", t.host.last)
	}
	return g, nil
}

// seed returns the header's seed: 0 if the plugin must not use it (ABI-4.1).
func (t *Trial) seed() uint64 {
	if t.manifest.Sharded() {
		return 0
	}
	return 42
}

// each calls f in ways that must agree, and fails the test if the outputs of f differ. It
// returns the output of the first way: all calls in one instance, one call for all nodes; and whether other instances agree. Calls
// of points from reserve on, and about many pods, always get new ids and slots.
func (t *Trial) each(f func(s *session) []string) (want []string, alike bool) {
	t.tb.Helper()
	told := map[way]bool{}
	want = f(&session{Trial: t, ways: once})
	if t.manifest.without != (Read{}) { // which is compared with the scenario
		return want, false
	}
	compare := func(how way, s *session) {
		t.tb.Helper()
		if s.Trial = t; !told[how] { // other numbers give the same mistake again
			told[how] = t.differ(want, f(s), how)
		}
	}
	for range 2 { // whose clocks tell other times: the cause at once, instead of what it does to the ways below
		if t.differ(want, f(&session{Trial: t, ways: once}), way{"another instance", alone}) {
			return want, false
		}
	}
	compare(inFresh("call"), &session{ways: once | fresh})
	compare(way{"calls on a list of rows", "answer about the rows that the call lists"}, &session{ways: once | listed})
	for seed := range uint64(3) {
		r := random(seed)
		order := r.Perm(len(t.Nodes))
		compare(way{"other numbers of rows, ids and slots", noNumbers}, &session{ways: once, order: order, rand: r})
		if len(t.manifest.CycleLocal) == 0 {
			compare(way{"new numbers of rows, ids and slots for every call", noNumbers}, &session{ways: once | renumber, rand: random(seed + 10)})
		}
		if t.manifest.Sharded() {
			compare(way{"rows split over calls", nodeOnly}, &session{order: order, rand: random(seed + 20)})
			compare(way{"rows split over calls, each in a fresh instance", nodeOnly}, &session{ways: fresh, order: order, rand: random(seed + 30)})
		}
	}
	return want, true
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// Config returns the configuration.
func (t *Trial) Config() string { return t.config }

// In returns the trial as part of another test.
func (t *Trial) In(tb testing.TB) *Trial {
	now, host := *t, *t.host
	host.tb = tb
	now.tb, now.host = tb, &host
	return &now
}
