package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/module"
)

func newPluginLock(p *program) *cobra.Command {
	o := runOptions{program: p}
	var market marketOptions
	var out string
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Write a lock file with the modules of a configuration, by digest",
		Long: `Lock fetches the modules that a configuration file and --plugin name, judges them by the
policy if there is one, and writes a lock file: digests, versions, signers, what each
plugin reads and what it is granted. berth run --lock then uses no other modules, except
those of --plugin-dir. Before lock writes, it prints the differences from the existing lock
file. Review them, or the file's diff.

Several --plugin may have the same name: versions of a SchedulerPlugin, all of which a rollout
needs.

With --index, lock refuses a version that is yanked, unless the lock file has it already.
An expired key (notAfter) still admits modules that the lock file has already.`,
		Example: `  berth plugin lock --config scheduler.yaml
  berth plugin lock --plugin oci://ghcr.io/team/rack-aware:1.2.0 --verification-policy policy.yaml
  berth plugin lock --config scheduler.yaml --plugin 'oci://ghcr.io/team/zones:1.0.0?name=zones' --plugin 'oci://ghcr.io/team/zones:1.1.0?name=zones'`,
		Args:    noArguments(""),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var f *index.File
			if o.index != "" {
				err := market.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
					rules, err := readPolicy(ctx, "verification-policy", o.modules.policy)
					if err == nil {
						f, err = readIndex(ctx, client, o.index, rules, &o.modules.compileOptions, plainly(cmd.ErrOrStderr()))
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return o.writeLock(cmd.Context(), f, out, cmd.OutOrStdout(), plainly(cmd.ErrOrStderr()))
		},
	}
	f := cmd.Flags()
	o.flags(f)
	shown := []string{"config", "plugin", "module-cache", "verification-policy", "index"}
	f.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shown, flag.Name) })
	f.Lookup("index").Usage = indexUsage + "; what it says is yanked is refused"
	market.flags(f)
	f.StringVarP(&out, "output", "o", defaultLock, "`FILE` to write")
	return cmd
}

// writeLock writes a lock file; f (optional) says what is yanked.
func (o *runOptions) writeLock(ctx context.Context, f *index.File, file string, stdout io.Writer, tell func(string)) error {
	if o.config == "" && len(o.modules.plugins) == 0 {
		return errors.New("nothing to lock: name a configuration file with --config, or modules with --plugin")
	}
	before, err := lockedBefore(ctx, file)
	if err != nil {
		return err
	}
	o.modules.admitted, o.modules.versions = before, true
	var found []lock.Plugin
	o.modules.loaded = func(l *module.Loaded, ref *module.Reference) {
		if !slices.ContainsFunc(found, func(p lock.Plugin) bool { return p.Name == l.Name && p.Source == ref.Source() }) {
			found = append(found, l.Locked(ref))
		}
	}
	modules, err := o.modules.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	if _, _, err := o.load(ctx, modules); err != nil {
		return err
	}
	if err := refuseYanked(f, found, before, tell); err != nil {
		return err
	}
	text, err := lock.Text(found)
	if err != nil {
		return err
	}
	changes := lock.Changes(before, found)
	for _, line := range changes {
		if _, err := fmt.Fprintln(stdout, plain.Line(line, maxCell)); err != nil {
			return writing(err)
		}
	}
	if err := replaceFile(file, text); err != nil {
		return &failure{err}
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, %s\n", file, count(len(found), "plugin"), count(len(changes), "change"))
	return writing(err)
}

// lockedBefore reads the lock file that is there; nil if there is none.
func lockedBefore(ctx context.Context, file string) (*lock.File, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return readLock(ctx, file)
}
