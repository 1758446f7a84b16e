package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/index"
)

type pluginBenchOptions struct {
	plugin string
	config string
	hints  []string
	nodes  []int
	length time.Duration
	output string
	compileOptions
}

func newPluginBench() *cobra.Command {
	var o pluginBenchOptions
	cmd := &cobra.Command{
		Use:   "bench [DIR|MODULE]",
		Short: "Measure a plugin on clusters of several sizes",
		Long: `Bench measures what a plugin costs for each pod. It takes a module, or builds the plugin
in a folder (the current one by default). The plugin filters and scores the nodes of
generated clusters for 64 different pods in turn.

PER POD   time in the host, including its work around the guest's calls, on one core,
          the best of five runs
FUEL      work of the guest, the same on every run and every machine
CALLS     guest calls
WRITTEN   bytes that the host copies into the guest's memory when only the pod changed
CALL      time of one bare call of filter, or score, for all nodes
NATIVE    the same call of the same plugin as native code; only for Go projects whose
          package has New and Manifest, such as those of berth plugin new

A second table has the time and the fuel of each call, and the answers: of preEnqueue and
queueSort, which get all 64 pods at once; of the points from preFilter to normalize; and
of reserve, permit, preBind and unreserve on the best node that is left for a pod.

The clusters contain everything that the plugin reads. Pass the plugin's configuration,
and as hints the strings that matter to it, so that its answers differ. A project has its
hints in testdata/hints.`,
		Example: `  berth plugin bench ./rack-aware
  berth plugin bench 'tenant-pool.wasm?config=pools.json' --hint gold --hint team-a`,
		Args:    optionalArgument("folder or module"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.plugin = append(args, ".")[0]
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.config, "config", "", "configuration `FILE` for a folder; for a module write MODULE?config=FILE")
	f.StringArrayVar(&o.hints, "hint", nil, hintUsage)
	f.IntSliceVar(&o.nodes, "nodes", []int{100, 1000, 5000}, "`NUMBERS` of nodes")
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text, or json for berth plugin push --bench")
	f.DurationVar(&o.length, "time", 300*time.Millisecond, "`DURATION` of each measurement")
	o.addTo(f)
	return cmd
}

func (o *pluginBenchOptions) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	for _, n := range o.nodes {
		if n < 1 || n > 100_000 {
			return fmt.Errorf("--nodes: %d is not between 1 and 100000", n)
		}
	}
	if o.length <= 0 {
		return fmt.Errorf("--time: %v is not a positive duration", o.length)
	}
	if err := checkOutput(o.output); err != nil {
		return err
	}
	t, err := findTarget(ctx, o.plugin, stderr)
	if err != nil {
		return err
	}
	defer t.remove()
	loaded, err := t.load(o.config)
	if err != nil {
		return err
	}
	m, err := openModule(ctx, loaded, t.named, &o.compileOptions)
	if err != nil {
		return t.inWords(err)
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	if !slices.ContainsFunc(benchedPoints(), func(p abi.Point) bool { return m.Manifest.Points.Get(p) != nil }) {
		return fmt.Errorf("%s: bench calls none of the plugin's points: it calls those in berth plugin bench --help", o.plugin)
	}
	if o.hints, err = t.hints(o.hints); err != nil {
		return err
	}
	if err := checkHints(m.Manifest, o.hints); err != nil {
		return err
	}
	rows := make([]benched, 0, len(o.nodes))
	for _, n := range o.nodes {
		row, err := o.measure(ctx, m, n)
		if err != nil {
			return t.inWords(err)
		}
		rows = append(rows, *row)
	}
	if o.output == "json" {
		out := index.Benched{Module: m.Digest}
		for _, r := range rows {
			out.Rows = append(out.Rows, index.Bench{Nodes: r.nodes, PerPod: r.perPod.Nanoseconds(), Fuel: r.used.fuel})
		}
		return writing(writeJSON(stdout, out))
	}
	nodesToo := berthtest.Measurable(wire.EncodeManifest(m.Manifest))
	natively, why := map[int]time.Duration{}, "only a Go project has one; name its folder"
	if !nodesToo {
		why = "the plugin has neither filter nor score"
	}
	if nodesToo && t.dir != "" && languageOf(t.dir) == "go" {
		natively, why = o.native(ctx, t.dir, m.Config)
	}
	p := &printer{w: stdout, width: width(stdout)}
	p.benched(m, rows, natively, why)
	return writing(p.err)
}

// benched prints the rows.
func (p *printer) benched(m *opened, measured []benched, natively map[int]time.Duration, why string) {
	p.printf("%s %s, %s; one core, 64 pods in turn\n\n", m.Manifest.Name, m.Manifest.Version, size(int64(len(m.Bytes))))
	rows := make([]table.Row, 0, len(measured))
	for _, r := range measured {
		native, call := "-", "-"
		if r.perCall > 0 {
			call = seconds(r.perCall.Seconds())
		}
		if d, ok := natively[r.nodes]; ok {
			native = seconds(d.Seconds())
		}
		rows = append(rows, table.Row{
			r.nodes, seconds(r.perPod.Seconds()), r.used.fuel, strconv.FormatFloat(r.used.calls, 'g', 4, 64), size(r.used.written), call, native,
		})
	}
	number := func(head string) column { return column{head: head, numbers: true} }
	p.table([]column{
		number("NODES"), number("PER POD"), number("FUEL"), number("CALLS"), number("WRITTEN"), number("CALL"), number("NATIVE"),
	}, rows)
	if why := notKept(m.Manifest); why != "" {
		p.text("Every pod costs this: answers are not kept for equivalent pods, because %s.", why)
	} else if m.Manifest.Points.Get(abi.Filter) != nil || m.Manifest.Points.Get(abi.Score) != nil {
		p.text("This is the cost of pods that differ. For a pod like an earlier one, the plugin is asked only about nodes that changed.")
	}
	if len(natively) == 0 {
		p.text("No native measurement: %s.", why)
	}
	if last := &measured[len(measured)-1]; p.err == nil {
		p.tallied(last)
	}
}

// benched is what was measured in a cluster of a size.
type benched struct {
	nodes           int
	perPod, perCall time.Duration
	used            counts
	pods            int // that were placed while calls were counted
	tallies         map[abi.Point]*tally
	judges          bool // the plugin has filter or score
}

// measure measures a size, without the native measurement.
func (o *pluginBenchOptions) measure(ctx context.Context, m *opened, n int) (*benched, error) {
	manifest := wire.EncodeManifest(m.Manifest)
	nodes, pods, err := berthtest.Sample(manifest, n, o.hints)
	if err != nil {
		return nil, err
	}
	namespaces, err := berthtest.SampleNamespaces(manifest, o.hints)
	if err != nil {
		return nil, err
	}
	h, err := newHosted(ctx, m, nodes, pods, namespaces)
	if err != nil {
		return nil, err
	}
	defer h.close(ctx)
	out := &benched{nodes: n, judges: berthtest.Measurable(manifest)}
	out.used, out.pods, out.tallies = h.count()
	i := 0
	out.perPod = repeated(o.length, func() {
		h.place(i)
		i++
	})
	if h.plugin.Faults() > 0 {
		h.plugin.Settle("")
		what := "berth plugin test shows where"
		if f := h.plugin.Status().Breaker.FirstFault; f != nil {
			what = f.Point.String() + ": " + f.Story()
		}
		return nil, &failure{fmt.Errorf("%s: the plugin faults in a cluster of %d nodes: %s", m.Path, n, what)}
	}
	if !out.judges {
		return out, nil
	}
	failed := record(func(tb testing.TB) {
		trial := berthtest.New(tb, manifest, m.factory(ctx), string(m.Config))
		trial.Nodes, trial.Namespaces = nodes, namespaces
		call, asked := trial.Caller(pods), []int{}
		for i := range pods {
			if call(i) != nil {
				asked = append(asked, i)
			}
		}
		if i := 0; len(asked) > 0 {
			out.perCall = repeated(o.length, func() {
				call(asked[i%len(asked)])
				i++
			})
		}
	})
	if len(failed) > 0 {
		return nil, &failure{fmt.Errorf("%s: %s", m.Path, failed[0])}
	}
	return out, nil
}

// batches is the number of runs of a measurement. The fastest counts, because other load
// on the machine only slows a run down.
const batches = 5

// repeated returns the time of one call of f, which it calls for about the given time.
func repeated(most time.Duration, f func()) time.Duration {
	f()
	best := time.Duration(0)
	for range batches {
		start, n := time.Now(), 0
		for n == 0 || time.Since(start) < most/batches {
			f()
			n++
		}
		if each := time.Since(start) / time.Duration(n); best == 0 || each < best {
			best = each
		}
	}
	return best
}
