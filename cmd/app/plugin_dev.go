package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

type pluginDevOptions struct {
	program *program
	dir     string
	cluster []string
	config  string
	once    bool
	limit   time.Duration
	compileOptions
}

func newPluginDev(p *program) *cobra.Command {
	o := pluginDevOptions{program: p}
	cmd := &cobra.Command{
		Use:   "dev [DIR]",
		Short: "Build, test and simulate a plugin after each save",
		Long: `Dev watches the project of a plugin (the current folder by default). At the start, and after
each burst of saves, it

- builds the plugin, as berth plugin build does;
- runs the scenarios and a few pods of each duty, as berth plugin test does;
- simulates a cluster, as berth simulate does: that of --cluster, or a generated one of 12
  nodes, which has everything that the plugin reads and the strings of its scenarios;

and shows what changed since the last time: scenarios that began or ceased to fail, pods that
are elsewhere or pending for another reason, the lines that the plugin logged, its size, and
its fuel per pod. If the build fails, it shows what the compiler said, and keeps the results
of the last build.

The configuration is that of --config, or of the last scenario. An interrupt ends dev with
status 0. With --once, dev ends after one round, with status 1 if something failed. What
cannot be watched ends it with status 2.`,
		Example: `  berth plugin dev
  berth plugin dev ./rack-aware --cluster cluster.yaml
  berth plugin dev ./rack-aware --once`,
		Args:    optionalArgument("folder"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir = filepath.Clean(append(args, ".")[0])
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.cluster, "cluster", nil, "Kubernetes YAML or JSON to simulate: a `FILE`, or a folder of them; repeatable")
	f.StringVar(&o.config, "config", "", "configuration `FILE` for the simulation; that of the last scenario if not given")
	f.BoolVar(&o.once, "once", false, "end after one round, with status 1 if something failed")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "`TIME` after which a round is stopped, such as a build that hangs")
	o.addTo(f)
	return cmd
}

// dev is one run of the command.
type dev struct {
	*pluginDevOptions
	out   *printer
	temp  string // folder for modules and what cargo keeps
	build buildOptions
	// scenario, hints and now are the configuration, the strings and the time of the last scenario.
	scenario string
	hints    []string
	now      int64
	last     []finding
	rounds   int
	good     int // the last round that could be built; 0 for none
}

func (o *pluginDevOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	d := &dev{pluginDevOptions: o, out: &printer{w: stdout, width: width(stdout)}}
	files, err := o.check(ctx)
	if err != nil {
		return err
	}
	if d.temp, err = os.MkdirTemp("", "berth-dev-"); err != nil {
		return &failure{err}
	}
	defer os.RemoveAll(d.temp) //nolint:errcheck // a folder for temporary files
	d.build = buildOptions{
		dir: d.dir, out: filepath.Join(d.temp, builtFile), shown: "the module of " + d.dir, kept: filepath.Join(d.temp, "cargo"), quick: true,
	}
	w := watcher{scan: files.scan, rest: rested}
	seen := w.scan()
	if len(seen) > maxWatched {
		return fmt.Errorf("%s: it has more than %d files: name the folder of the plugin alone", files.dir, maxWatched)
	}
	if !o.once {
		d.out.printf("watching %s in %s; an interrupt ends it\n", count(len(seen), "file"), files.dir)
	}
	var changes []string
	for {
		good := d.round(ctx, changes)
		switch {
		case d.out.err != nil:
			return writing(d.out.err)
		case ctx.Err() != nil && o.once:
			return &failure{fmt.Errorf("stopped: %w", context.Cause(ctx))}
		case ctx.Err() != nil, o.once && good:
			return nil
		case o.once:
			return &failure{errSilent}
		}
		now := w.next(ctx, seen)
		if now == nil {
			return nil
		}
		seen, changes = now, now.since(seen)
	}
}

// check refuses input that cannot be used, and returns what is to be watched.
func (o *pluginDevOptions) check(ctx context.Context) (*watchedFiles, error) {
	if o.limit <= 0 {
		return nil, fmt.Errorf("--limit: %v is not a positive duration", o.limit)
	}
	manifest, _, err := (&buildOptions{dir: o.dir}).project()
	if err != nil {
		return nil, err
	}
	if len(o.cluster) > 0 {
		if _, err := input.LoadCluster(ctx, o.cluster, false); err != nil {
			return nil, err
		}
	}
	if o.config != "" {
		if _, err := module.ReadConfig(o.config); err != nil {
			return nil, err
		}
	}
	if _, err := o.runtime(); err != nil { // the flags about compiling
		return nil, err
	}
	files := &watchedFiles{dir: filepath.Dir(manifest), others: o.cluster}
	if o.config != "" {
		files.others = append(files.others[:len(files.others):len(files.others)], o.config)
	}
	return files, nil
}

// round builds, tests and simulates the plugin, and prints what changed. It reports whether all is well.
func (d *dev) round(ctx context.Context, changes []string) bool {
	d.rounds++
	start := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("the round took longer than %v (--limit)", d.limit))
	defer cancel()
	found, err := d.look(limited)
	if err == nil && limited.Err() != nil {
		err = fmt.Errorf("stopped: %w", context.Cause(limited))
	}
	if ctx.Err() != nil {
		return false
	}
	head := fmt.Sprintf("\nround %d", d.rounds)
	if len(changes) > 0 {
		head += ": " + strings.Join(changes[:min(len(changes), 3)], ", ")
		if more := len(changes) - 3; more > 0 {
			head += fmt.Sprintf(" and %d more", more)
		}
	}
	d.out.printf("%s (%s)\n", head, seconds(time.Since(start).Seconds()))
	if err != nil {
		d.out.printf("FAIL  it cannot be built, or not to its end\n%s", indented(err.Error()))
		if d.good > 0 {
			d.out.printf("      the results of round %d stay\n", d.good)
		}
		return false
	}
	ok := d.out.findings(found, d.last, d.good)
	left := "the project's own tests, most pods of the duties, odd clusters, invalid input"
	if languageOf(d.dir) == "assemblyscript" {
		left = "optimization, so that size and fuel are larger, " + left
	}
	d.out.printf("left out: %s; all: berth plugin test %s\n", left, d.dir)
	d.last, d.good = found, d.rounds
	return ok
}

// indented returns a text below a line about a test.
func indented(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(plain.Lines(text, maxErrors)), "\n", "\n      ") + "\n"
}

// inWords replaces temporary files in an error.
func (d *dev) inWords(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(d.named(err.Error()))
}

// named replaces temporary files in a text.
func (d *dev) named(text string) string {
	return strings.NewReplacer(
		filepath.Join(d.temp, builtFile), "the module of "+d.dir, filepath.Join(d.temp, simulatedFile), "the module of "+d.dir,
		filepath.Join(d.temp, configFile), "the configuration", filepath.Join(d.temp, clusterFile), "the generated cluster",
	).Replace(text)
}
