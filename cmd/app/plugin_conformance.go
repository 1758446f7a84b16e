package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

type conformanceOptions struct {
	config    string
	hints     []string
	published map[string]string
	seed      uint64
	cycles    int
	output    string
	compileOptions
}

// cyclesUsage is what plugin conformance and plugin test say of --cycles.
const cyclesUsage = "`NUMBER` of pods for each duty; 60 if not given"

// checkCycles refuses a wrong --cycles.
func checkCycles(n int) error {
	if n < 0 {
		return fmt.Errorf("--cycles: %d is less than 0", n)
	}
	return nil
}

func newPluginConformance() *cobra.Command {
	var o conformanceOptions
	cmd := &cobra.Command{
		Use:   "conformance DIR|MODULE",
		Short: "Test that a module conforms to the ABI",
		Long: `Conformance schedules generated pods in generated clusters with a module, in every way
that abi/SPEC.md allows a host: with one instance and with several, with other ids for
the same names, with columns that move, with additions of later ABI versions. It reports
whether the module's answers are well formed, whether they are the same each time, and
whether the module leaves the host's memory unchanged.

A folder is built first, with the names of its functions, which a failing example then shows.

Conformance does not judge whether answers are useful. Pass the module's configuration,
and as hints the strings that matter to it, so that its answers differ.

The exit status is 1 if a duty failed, and 2 if the module cannot be used.`,
		Example: `  berth plugin conformance ./tenantpool --config pools.json
  berth plugin conformance 'tenant-pool.wasm?config=pools.json' --hint gold --hint team-a
  berth plugin conformance gang.wasm --hint berth.dev/gang=blue`,
		Args:    oneArgument("folder or module", "DIR|MODULE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.config, "config", "", "configuration `FILE` for a folder; for a module write MODULE?config=FILE")
	f.StringArrayVar(&o.hints, "hint", nil, hintUsage)
	f.StringToStringVar(&o.published, "published", nil, "`KEY=VALUE` that another plugin published; repeatable")
	f.Uint64Var(&o.seed, "seed", 1, "seed `NUMBER` of the clusters and pods")
	f.IntVar(&o.cycles, "cycles", 0, cyclesUsage)
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text, or json for berth plugin push --conformance")
	o.addTo(f)
	return cmd
}

func (o *conformanceOptions) run(ctx context.Context, plugin string, out, stderr io.Writer) (err error) {
	if err := checkCycles(o.cycles); err != nil {
		return err
	}
	if err := checkOutput(o.output); err != nil {
		return err
	}
	target, err := findTarget(ctx, plugin, stderr)
	if err != nil {
		return err
	}
	defer target.remove()
	loaded, err := target.load(o.config)
	if err != nil {
		return err
	}
	hints, err := target.hints(o.hints)
	if err != nil {
		return err
	}
	m, err := openModule(ctx, loaded, target.named, &o.compileOptions)
	if err != nil {
		return target.inWords(err)
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	if err := checkHints(m.Manifest, hints); err != nil {
		return err
	}
	options := conformance.Options{
		Config: m.Config, Namespaces: target.ref.Namespaces, Seed: o.seed, Cycles: o.cycles, Hints: hints, Published: map[string][]byte{},
	}
	for key, value := range o.published {
		options.Published[key] = []byte(value)
	}
	report, err := m.conforms(ctx, options)
	if err != nil {
		return target.inWords(err)
	}
	if o.output == "json" {
		err = writeJSON(out, conformed(loaded.Digest, report))
	} else {
		err = report.Write(out)
	}
	if err != nil {
		return writing(err)
	}
	if !report.OK() {
		return target.inWords(&failure{fmt.Errorf("%s does not conform to the ABI", m.Path)})
	}
	return nil
}

// conformed counts the duties of a report.
func conformed(module string, report *conformance.Report) *index.Conformed {
	out := &index.Conformed{Module: module}
	for _, d := range report.Duties {
		switch d.Verdict {
		case conformance.Passed:
			out.Kept++
		case conformance.Failed:
			out.Failed++
		}
	}
	return out
}

// conforms tests a module against the duties of guests.
func (m *opened) conforms(ctx context.Context, options conformance.Options) (*conformance.Report, error) {
	options.Module = m.Bytes
	report, err := conformance.Check(ctx, &guest{code: m.code}, m.Manifest, options)
	if err != nil {
		return nil, &failure{fmt.Errorf("%s: %s", m.Path, strings.TrimPrefix(err.Error(), "conformance: "))}
	}
	return report, nil
}

// guest is a module for the conformance kit, with the default limits.
type guest struct {
	code  *sandbox.Module
	clock clocks
}

// regionRoom is the space for the regions that the kit writes, in bytes. Its clusters are small.
const regionRoom = 16 << 20

// New implements conformance.Guest.
func (g *guest) New(ctx context.Context, f conformance.Functions) (conformance.Instance, error) {
	return g.code.RawInstance(ctx, sandbox.Limits{}, regionRoom, g.clock.next(), f)
}

// Exports implements conformance.Guest.
func (g *guest) Exports(name string) bool { return g.code.ExportsName(name) }
