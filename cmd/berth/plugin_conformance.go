package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

type conformanceOptions struct {
	hints     []string
	published map[string]string
	seed      uint64
	cycles    int
	compileOptions
}

func newPluginConformance() *cobra.Command {
	var o conformanceOptions
	cmd := &cobra.Command{
		Use:   "conformance MODULE",
		Short: "Test whether a module keeps the duties of a guest",
		Long: `Conformance places made-up pods in made-up clusters with a module, in every way in
which abi/SPEC.md allows a host to show them: with one instance and with several, with
other numbers for the same names, with columns that move, with what later versions of
the ABI may add. It reports whether the module's answers are well formed and the same
each time, and whether it leaves alone what is the host's.

It says nothing of whether answers are useful. Give the module its configuration, and
strings that mean something to it as hints, so that it has something to tell apart.

The exit status is 1 if a duty failed, and 2 if the module cannot be used.`,
		Example: `  berth plugin conformance tenant-pool.wasm
  berth plugin conformance 'tenant-pool.wasm?config=pools.json' --hint gold --hint team-a`,
		Args:    oneArgument("module", "MODULE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.hints, "hint", nil, "`STRING` that labels, namespaces and other names may be; repeatable")
	f.StringToStringVar(&o.published, "published", nil, "`KEY=VALUE` that another plugin published; repeatable")
	f.Uint64Var(&o.seed, "seed", 1, "`NUMBER` that makes the clusters and pods")
	f.IntVar(&o.cycles, "cycles", 0, "`NUMBER` of pods placed in each way; 60 if not given")
	o.addTo(f)
	return cmd
}

func (o *conformanceOptions) run(ctx context.Context, text string, out io.Writer) (err error) {
	if o.cycles < 0 {
		return fmt.Errorf("--cycles: %d is less than 0", o.cycles)
	}
	ref, err := module.ParseReference(text)
	if err != nil {
		return err
	}
	ref.GrantAll = true // what it asks for is looked at, not done
	loaded, err := module.Load(ref)
	if err != nil {
		return err
	}
	m, err := openModule(ctx, loaded, &o.compileOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	options := conformance.Options{
		Config: m.Config, Namespaces: ref.Namespaces, Seed: o.seed, Cycles: o.cycles, Hints: o.hints, Published: map[string][]byte{},
	}
	for key, value := range o.published {
		options.Published[key] = []byte(value)
	}
	report, err := m.conforms(ctx, options)
	if err != nil {
		return err
	}
	if err := report.Write(out); err != nil {
		return writing(err)
	}
	if !report.OK() {
		return &failure{fmt.Errorf("%s does not conform to the ABI", m.Path)}
	}
	return nil
}

// conforms holds a module against the duties of guests.
func (m *opened) conforms(ctx context.Context, options conformance.Options) (*conformance.Report, error) {
	options.Module = m.Bytes
	report, err := conformance.Check(ctx, &guest{code: m.code}, m.Manifest, options)
	if err != nil {
		return nil, &failure{fmt.Errorf("%s: %s", m.Path, strings.TrimPrefix(err.Error(), "conformance: "))}
	}
	return report, nil
}

// guest is a module for the kit, with the limits that modules have by default.
type guest struct{ code *wasm.Module }

// regionRoom is the room for what the kit writes, in bytes; its clusters are small.
const regionRoom = 16 << 20

// New implements conformance.Guest.
func (g *guest) New(ctx context.Context, f conformance.Functions) (conformance.Instance, error) {
	return g.code.Bare(ctx, wasm.Limits{}, regionRoom, f)
}

// Exports implements conformance.Guest.
func (g *guest) Exports(name string) bool { return g.code.ExportsName(name) }
