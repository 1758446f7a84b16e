package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
)

// newConfig returns the commands about configuration.
func newConfig(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration file or a plugin folder",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheck(p))
	return cmd
}

func newConfigCheck(p *program) *cobra.Command {
	o := runOptions{program: p}
	resolve := false
	cmd := &cobra.Command{
		Use:   "check [FILE | DIR | -]",
		Short: "Check that berth run can use a configuration file or a plugin folder",
		Long: `Check does what berth run does before it connects to a cluster. It reads the
configuration; it checks and compiles the modules that are named there; it
compares their grants, limits and configurations with their manifests; and it
creates every plugin. It checks a plugin folder (DIR, or --plugin-dir) the same
way. It schedules nothing and needs no cluster. It needs no network either:
modules of servers and registries that are not in the cache are named and left
out, unless --resolve fetches them.

Check accepts all flags of berth run, so you can pass it the command line of
berth run as it is. The help lists only the flags that matter for modules.

Check prints what it checked. Warnings and problems, with their place and remedy,
go to stderr. The exit status is 0 if everything can be used, otherwise 2. A bad
module in the folder also counts, although berth run would start without it.`,
		Example: `  berth config check scheduler.yaml
  berth config check scheduler.yaml --resolve
  berth config check plugins.new/
  sed s/default-scheduler/berth/ scheduler.yaml | berth config check -
  berth config check scheduler.yaml --plugin-dir plugins.new/ --plugin pools.wasm?weight=2`,
		Args: optionalArgument("file or folder"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if err := setChecked(cmd.Flags(), args); err != nil { // before the environment
				return err
			}
			o.argument = len(args) > 0
			return applySettings(cmd, nil) // --config or --plugin-dir has the argument
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.config == "" && o.pluginDir == "" && len(o.modules.plugins) == 0 {
				return errors.New("nothing to check: name a configuration file or a plugin folder")
			}
			o.modules.offline = !resolve
			return o.checkConfig(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	o.flags(f)
	f.BoolVar(&resolve, "resolve", false, "fetch the modules that are not in the cache")
	shown := []string{
		"config", "plugin-dir", "plugin", "module-cache", "module-cache-size", "compile-time", "compile-memory", "plugin-memory",
		"resolve", "verification-policy", "lock",
	}
	f.VisitAll(func(flag *pflag.Flag) { flag.Hidden = flag.Hidden || !slices.Contains(shown, flag.Name) })
	return cmd
}

// setChecked sets the flag of berth run that means the same as the argument.
func setChecked(f *pflag.FlagSet, args []string) error {
	if len(args) == 0 {
		return nil
	}
	flag := "config"
	if info, err := os.Stat(args[0]); strings.HasSuffix(args[0], "/") || err == nil && info.IsDir() {
		flag = "plugin-dir"
	} else if strings.HasSuffix(args[0], ".wasm") {
		return fmt.Errorf("%s is a module: check it with --plugin, or check its folder", args[0])
	}
	if f.Changed(flag) {
		return fmt.Errorf("%s and --%s exclude each other: check one after the other", args[0], flag)
	}
	return f.Set(flag, args[0])
}

// checkConfig does what run does before it connects to a cluster, and prints the result.
func (o *runOptions) checkConfig(ctx context.Context, stdout, stderr io.Writer) error {
	if _, err := o.check(new(slog.LevelVar), stderr); err != nil {
		return err
	}
	modules, err := o.modules.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	p := &printer{w: stdout, width: width(stdout)}
	scheduler, a, err := o.makeAll(ctx, modules, stderr)
	if err != nil && ctx.Err() != nil {
		return err
	}
	problems := []error{err}
	if o.config != "" || len(o.modules.plugins) > 0 {
		p.checkedConfig(cmp.Or(bounded.Name(o.config), "the default configuration"), scheduler, err)
		for _, unfetched := range o.modules.unfetched {
			p.printf("%s, so its plugin is left out here (--resolve fetches it)\n", unfetched)
		}
	}
	if a == nil && o.pluginDir != "" { // the folder can still be checked
		if a, err = assembly.NewUnconnected(o.program.addTo(assembly.Config{Modules: modules})); err != nil {
			return err
		}
	}
	if a != nil {
		defer a.Close()
	}
	if o.pluginDir != "" {
		folder, err := a.ReadFolder(ctx, assembly.FolderConfig{Dir: o.pluginDir})
		if err != nil {
			problems = append(problems, fmt.Errorf("plugin folder: %w", err))
		} else {
			problems = append(problems, p.checkedFolder(o.pluginDir, folder.Status()))
		}
	}
	if a != nil {
		p.checkedModules(a.Status())
	}
	return errors.Join(errors.Join(problems...), writing(p.err))
}

// makeAll creates everything that the configuration and --plugin name. The assembly is
// nil if that fails.
func (o *runOptions) makeAll(
	ctx context.Context, modules *assembly.Modules, stderr io.Writer,
) (*config.Scheduler, *assembly.Assembly, error) {
	scheduler, warnings, err := o.load(ctx, modules)
	if o.config != "" {
		warn(plainly(stderr), warnings)
	}
	if err != nil {
		return nil, nil, err
	}
	warnAlone(plainly(stderr), scheduler)
	a, err := assembly.NewUnconnected(o.program.addTo(assembly.Config{Scheduler: scheduler, Modules: modules}))
	return scheduler, a, err
}

// checkedConfig prints the result for a configuration.
func (p *printer) checkedConfig(name string, s *config.Scheduler, err error) {
	if err != nil {
		p.printf("%s cannot be used: %s\n", name, count(strings.Count(err.Error(), "\n")+1, "problem"))
		return
	}
	var profiles []string
	for i := range s.Profiles {
		profiles = append(profiles, s.Profiles[i].SchedulerName)
	}
	p.printf("%s can be used: %s (%s), %s\n", name, count(len(profiles), "profile"), strings.Join(profiles, ", "), count(len(s.Extenders), "HTTP extender"))
}

// checkedFolder prints the result for a folder, and returns why modules are refused.
func (p *printer) checkedFolder(dir string, files []assembly.FolderStatus) error {
	var errs []error
	for i := range files {
		if err := files[i].Err; err != nil {
			errs = append(errs, err)
		}
	}
	switch {
	case len(files) == 0:
		p.printf("%s has no modules (files named NAME.wasm)\n", dir)
	case len(errs) > 0:
		p.printf("%s cannot be used: %d of %s would not load\n", dir, len(errs), count(len(files), "module"))
	default:
		p.printf("%s can be used: %s\n", dir, count(len(files), "module"))
	}
	return errors.Join(errs...)
}

// checkedModules lists the plugins that come from modules.
func (p *printer) checkedModules(s assembly.Status) {
	if len(s.Plugins) == 0 {
		return
	}
	columns := []column{{head: "PROFILE"}, {head: "PLUGIN"}, {head: "MODULE"}, {head: "DIGEST"}}
	var rows []table.Row
	for i := range s.Plugins {
		x := &s.Plugins[i]
		name := x.Name
		if len(x.Namespaces) > 0 {
			name += " for " + strings.Join(x.Namespaces, ", ")
		}
		rows = append(rows, table.Row{x.Profile, name, x.Module + " " + x.Version, short(x.Digest)})
	}
	p.table(columns, rows)
}

// writeConfig writes the configuration to a file that berth run can read. The file may
// contain private keys of extenders' clients, so only the user may read it.
func (p *program) writeConfig(file string, s *config.Scheduler, modules *assembly.Modules) error {
	if len(p.names) > 0 { // it takes the plugins to know their points
		a, err := assembly.NewUnconnected(p.addTo(assembly.Config{Scheduler: s, Modules: modules}))
		if err != nil {
			return fmt.Errorf("--write-config-to: %w", err)
		}
		defer a.Close()
	}
	versioned, err := s.Versioned()
	if err != nil {
		return fmt.Errorf("--write-config-to: %w", err)
	}
	text, err := yaml.Marshal(versioned)
	if err == nil {
		err = writePrivate(file, text)
	}
	if err != nil {
		return fmt.Errorf("--write-config-to: %w (name a file that can be written)", err)
	}
	return nil
}
