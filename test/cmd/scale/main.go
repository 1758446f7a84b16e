// Command scale measures what it costs to place a pod in memory, with Berth's engine and
// with kube-scheduler's, and writes docs/scale.md with its drawing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/scale"
)

func main() {
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	r := &run{ctx: ctx, log: os.Stderr}
	out := flag.String("out", "../docs", "where scale.md and scale.svg go")
	flag.StringVar(&r.modules, "modules", "../bin/scale", "where the example modules are, as make bench-report builds them")
	flag.IntVar(&r.repetitions, "repetitions", 3, "how often each cost of Berth is measured; the median counts")
	flag.IntVar(&r.most, "nodes", 100_000, "the largest cluster")
	footprint := flag.String("memory", "", "measure the memory of a simulation with so many `NODES,PODS`, and nothing else")
	flag.Parse()
	var err error
	if *footprint != "" {
		err = memoryOf(ctx, *footprint)
	} else {
		err = r.write(*out)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// run measures and collects.
type run struct {
	ctx               context.Context //nolint:containedctx // of the command
	log               io.Writer
	modules           string
	repetitions, most int
}

const (
	noisyConfig = `{"podsPerTenant": 1000, "noisyPods": 2000, "noisyMilliCPU": 64000}`
	zonesConfig = `{"zones": {"zone-0": 10, "zone-1": 12.5, "zone-2": 30}}`
	poolsConfig = `{"tenants": {"team-a": {"pools": ["gold"]}}, "others": "any"}`
)

// ofPods are a filter that reads the pods on nodes, in a language, and a score.
func (r *run) ofPods(language string) []scale.Module {
	return []scale.Module{{Name: "noisy-neighbour", Path: filepath.Join(r.modules, "noisy-neighbour-"+language+".wasm"), Config: noisyConfig}, r.zoneCost()}
}

// natively returns plugins as their native twins.
func natively(modules []scale.Module) []scale.Module {
	for i := range modules {
		modules[i].Native = true
	}
	return modules
}

// ofLabels are a filter that reads labels of nodes, and a score.
func (r *run) ofLabels() []scale.Module {
	return []scale.Module{{Name: "tenant-pool", Path: filepath.Join(r.modules, "tenant-pool-go.wasm"), Config: poolsConfig}, r.zoneCost()}
}

func (r *run) zoneCost() scale.Module {
	return scale.Module{Name: "zone-cost", Path: filepath.Join(r.modules, "zone-cost-go.wasm"), Config: zonesConfig}
}

// way is one way to place pods.
type way struct {
	name  string
	once  bool // what it costs differs from the others by more than a measurement from the next
	pods  func(nodes int) int
	place func(w scale.Workload) (scale.Cost, error)
}

func (r *run) berth(name string, modules []scale.Module, kept bool) way {
	pods := func(nodes int) int { return min(20_000, 50*nodes) }
	if !kept {
		pods = func(nodes int) int { return max(200, min(5000, 20_000_000/nodes)) }
	}
	return way{name, false, pods, func(w scale.Workload) (scale.Cost, error) { return scale.Berth(r.ctx, w, modules, kept) }}
}

func (r *run) kube(name string, allNodes bool) way {
	pods := func(nodes int) int { return max(100, min(2000, 5_000_000/nodes)) }
	return way{name, true, pods, func(w scale.Workload) (scale.Cost, error) { return scale.Kube(r.ctx, w, allNodes) }}
}

// measure returns the median cost of each way, which are measured in turn.
func (r *run) measure(ways []way, kind scale.Kind, nodes, templates int) ([]time.Duration, error) {
	return r.measureOf(ways, nodes, templates, fmt.Sprint(kind), func(pods, templates int) scale.Workload { return scale.New(kind, nodes, pods, templates) })
}

func (r *run) measureOf(ways []way, nodes, templates int, what string, of func(pods, templates int) scale.Workload) ([]time.Duration, error) {
	costs := make([][]time.Duration, len(ways))
	for repetition := range r.repetitions {
		for i, w := range ways {
			if w.once && repetition > 0 {
				continue
			}
			pods := w.pods(nodes)
			t := templates
			if t == 0 { // all distinct
				t = pods
			}
			cost, err := w.place(of(pods, t))
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %d nodes: %w", w.name, what, nodes, err)
			}
			_, _ = fmt.Fprintf(r.log, "%s, %s, %d nodes, %d templates: %v\n", w.name, what, nodes, t, cost.CPU)
			costs[i] = append(costs[i], cost.CPU)
		}
	}
	out := make([]time.Duration, len(ways))
	for i := range costs {
		slices.Sort(costs[i])
		out[i] = costs[i][len(costs[i])/2]
	}
	return out, nil
}

// table is costs by way and by something else.
type table struct {
	first string
	ways  []string
	rows  []string
	costs [][]time.Duration
}

func (t *table) add(row string, costs []time.Duration) {
	t.rows, t.costs = append(t.rows, row), append(t.costs, costs)
}

func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |\n|---:|%s\n", t.first, strings.Join(t.ways, " | "), strings.Repeat("---:|", len(t.ways)))
	for i, row := range t.rows {
		fmt.Fprintf(&b, "| %s |", row)
		for _, c := range t.costs[i] {
			if c == 0 {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", micro(c))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// micro prints microseconds with three digits.
func micro(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	switch {
	case us < 10:
		return fmt.Sprintf("%.2f", us)
	case us < 100:
		return fmt.Sprintf("%.1f", us)
	}
	return grouped(int(us + 0.5))
}

// grouped prints a number with commas.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func names(ways []way) []string {
	var out []string
	for _, w := range ways {
		out = append(out, w.name)
	}
	return out
}

// report is what the page shows.
type report struct {
	CPUs                               int
	Repetitions                        int
	Nodes, Templates, Languages, Kinds *table
	Changes                            *table
	Largest                            string
	// At 5,000 nodes: how often Berth with plugins fits into kube-scheduler's cost, by
	// default and with all nodes; what the plugins add; and what nodes add.
	Default, All, Labels, Pods, Growth string
	Memory                             memory
}

func (r *run) write(dir string) error {
	page := report{CPUs: runtime.GOMAXPROCS(0), Repetitions: r.repetitions}
	for _, part := range []func(*report) error{r.byNodes, r.byTemplates, r.byChanges, r.byLanguage, r.byKind, r.measureMemory} {
		if err := part(&page); err != nil {
			return err
		}
	}
	return page.write(dir)
}

func (r *run) byNodes(page *report) error {
	ways := []way{
		r.kube("kube-scheduler", false), r.kube("kube-scheduler, all nodes", true),
		r.berth("Berth, no reuse", nil, false), r.berth("Berth", nil, true),
		r.berth("Berth, plugins of labels", r.ofLabels(), true), r.berth("Berth, plugins of pods", r.ofPods("go"), true),
	}
	t := &table{first: "nodes", ways: names(ways)}
	for _, nodes := range []int{100, 1000, 5000, 20_000, 100_000} {
		if nodes > r.most {
			break
		}
		costs, err := r.measure(ways, scale.Plain, nodes, 4)
		if err != nil {
			return err
		}
		t.add(grouped(nodes), costs)
		if nodes == 5000 {
			page.Default, page.All = ratio(costs[0], costs[5]), ratio(costs[1], costs[5])
			page.Labels, page.Pods = ratio(costs[4], costs[3]), ratio(costs[5], costs[3])
		}
	}
	last := t.costs[len(t.costs)-1]
	page.Nodes, page.Largest = t, t.rows[len(t.rows)-1]
	page.Growth = ratio(last[5], t.costs[min(1, len(t.costs)-1)][5])
	return nil
}

func (r *run) byTemplates(page *report) error {
	ways := []way{
		r.berth("no plugins, no reuse", nil, false), r.berth("no plugins", nil, true),
		r.berth("of labels, no reuse", r.ofLabels(), false), r.berth("of labels", r.ofLabels(), true),
		r.berth("of pods, no reuse", r.ofPods("go"), false), r.berth("of pods", r.ofPods("go"), true),
	}
	for i := range ways { // what a pod costs depends on how many there are
		ways[i].pods = ways[0].pods
	}
	page.Templates = &table{first: "templates", ways: names(ways)}
	for _, templates := range []int{1, 10, 100, 1000, 0} {
		costs, err := r.measure(ways, scale.Plain, min(5000, r.most), templates)
		if err != nil {
			return err
		}
		name := grouped(templates)
		if templates == 0 {
			name = "all distinct"
		}
		page.Templates.add(name, costs)
	}
	return nil
}

func (r *run) byChanges(page *report) error {
	ways := []way{
		r.berth("no plugins, no reuse", nil, false), r.berth("no plugins", nil, true), r.berth("of labels", r.ofLabels(), true),
		r.berth("of pods, native", natively(r.ofPods("go")), true), r.berth("of pods", r.ofPods("go"), true),
	}
	const pods = 1000
	for i := range ways {
		ways[i].pods = func(int) int { return pods }
	}
	page.Changes = &table{first: "pods that leave before each", ways: names(ways)}
	nodes := min(5000, r.most)
	for _, rows := range []int{0, 1, 10, 100} {
		if rows*pods > 50*nodes {
			break // they do not fit all at once
		}
		costs, err := r.measureOf(ways, nodes, 4, fmt.Sprint(rows, " changes"), func(pods, templates int) scale.Workload {
			return scale.New(scale.Plain, nodes, pods, templates).Changing(rows, templates)
		})
		if err != nil {
			return err
		}
		page.Changes.add(grouped(rows), costs)
	}
	return nil
}

func (r *run) byLanguage(page *report) error {
	ways := []way{r.berth("none", nil, true), r.berth("native", natively(r.ofPods("go")), true)}
	for _, language := range []string{"go", "rust", "c", "assemblyscript"} {
		if _, err := os.Stat(r.ofPods(language)[0].Path); err == nil {
			ways = append(ways, r.berth(language, r.ofPods(language), true))
		}
	}
	page.Languages = &table{first: "nodes", ways: names(ways)}
	nodes := min(5000, r.most)
	costs, err := r.measure(ways, scale.Plain, nodes, 4)
	if err != nil {
		return err
	}
	page.Languages.add(grouped(nodes), costs)
	return nil
}

func (r *run) byKind(page *report) error {
	ways := []way{r.kube("kube-scheduler", false), r.kube("kube-scheduler, all nodes", true), r.berth("Berth, no reuse", nil, false), r.berth("Berth", nil, true)}
	ways[3].pods = ways[2].pods // as in byTemplates
	page.Kinds = &table{first: "pods", ways: names(ways)}
	for _, kind := range []struct {
		kind scale.Kind
		name string
	}{{scale.Spread, "spread over zones"}, {scale.Preferred, "preferred affinity"}, {scale.Anti, "required anti-affinity"}} {
		costs, err := r.measure(ways, kind.kind, min(5000, r.most), 4)
		if err != nil {
			return err
		}
		page.Kinds.add(kind.name, costs)
	}
	return nil
}

func ratio(a, b time.Duration) string {
	q := float64(a) / float64(b)
	if q < 10 {
		return fmt.Sprintf("%.2f", q)
	}
	return fmt.Sprintf("%.0f", q)
}
