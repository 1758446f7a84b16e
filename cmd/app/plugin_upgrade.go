package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/module"
)

func newPluginOutdated(p *program) *cobra.Command {
	o := installOptions{runOptions: runOptions{program: p}}
	cmd := &cobra.Command{
		Use:   "outdated --index REFERENCE",
		Short: "List installed plugins that have newer versions, or are yanked",
		Long: `Outdated compares the lock file of a configuration, or the modules of a plugin folder, with an
index. IN RANGE is the newest version that is compatible with the one in use by semantic
versioning, which berth plugin upgrade installs; LATEST is the newest of all.`,
		Example: `  berth plugin outdated --index ghcr.io/team/index --verification-policy policy.yaml --config scheduler.yaml`,
		Args:    noArguments(""),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.market.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				f, err := o.begin(ctx, client, plainly(cmd.ErrOrStderr()))
				if err != nil {
					return err
				}
				used, err := o.used(ctx, f.File)
				if err != nil {
					return err
				}
				p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
				for i := range used {
					if used[i].next, err = f.next(ctx, &used[i]); err != nil {
						return err
					}
				}
				p.outdated(used)
				return writing(p.err)
			})
		},
	}
	o.flags(cmd.Flags())
	cmd.Flags().Lookup("yes").Hidden = true
	cmd.Flags().Lookup("config").Usage = "KubeSchedulerConfiguration `FILE`, whose lock file is compared with the index"
	cmd.Flags().Lookup("plugin-dir").Usage = "plugin folder `DIR` to compare, instead of a configuration"
	cmd.Flags().Lookup("lock").Usage = "lock `FILE` beside the configuration; " + defaultLock + " if not given"
	return cmd
}

// use is a plugin of an index that is in use.
type use struct {
	plugin  *index.Plugin
	version string         // of the manifest
	listed  *index.Version // what is used; nil if the index does not have it
	next    *index.Version // what upgrade installs, where outdated looked for it; nil if nothing
	// locked is its entry of the lock file, or what would be; entry is that of a folder.
	locked lock.Plugin
	entry  *module.Entry
}

// used returns the plugins of the index that are in use, by the lock file or in the
// folder.
func (o *installOptions) used(ctx context.Context, f *index.File) ([]use, error) {
	if o.pluginDir != "" {
		return o.usedFiles(f)
	}
	locked, err := lockedBefore(ctx, o.lock)
	if err != nil {
		return nil, err
	}
	if locked == nil {
		return nil, fmt.Errorf("%s: there is no lock file: make it with berth plugin lock --config %s", o.lock, o.config)
	}
	var out []use
	for _, p := range locked.Plugins {
		image, isImage := strings.CutPrefix(p.Source, "oci://")
		ref, err := oci.ParseReference(image)
		if !isImage || err != nil {
			continue
		}
		if x := f.In(ref.Place()); x != nil {
			_, v := f.Digest(p.Module, p.Image)
			if _, yanked := f.Yanked(p.Module); yanked != nil {
				v = yanked
			}
			out = append(out, use{plugin: x, version: p.Version, listed: v, locked: p})
		}
	}
	return out, nil
}

// compatible is the range of versions that may follow one.
func (u *use) compatible() index.Wanted {
	return index.Wanted{Name: u.plugin.Name, Range: "^" + u.version}
}

// outdated prints plugins for which there are newer versions, or that are yanked.
func (p *printer) outdated(used []use) {
	var rows []table.Row
	for i := range used {
		u := &used[i]
		latest, yanked := u.plugin.Latest(), "-"
		if u.listed != nil && u.listed.Yanked != nil {
			yanked = u.listed.Yanked.String()
		}
		inRange := "-"
		if u.next != nil {
			inRange = u.next.Version
		}
		newest := "-"
		if latest.Yanked == nil && index.Newer(latest.Version, u.version) {
			newest = latest.Version
		}
		if inRange == newest && newest == "-" && yanked == "-" {
			continue
		}
		rows = append(rows, table.Row{u.locked.Name, u.version, inRange, newest, yanked})
	}
	if len(rows) == 0 {
		p.text("All plugins of the index that are in use are up to date: %d.", len(used))
		return
	}
	p.table([]column{{head: "NAME"}, {head: "VERSION"}, {head: "IN RANGE"}, {head: "LATEST"}, {head: "YANKED", least: 20}}, rows)
}

// next returns the newest version that may follow one in use; nil if there is none.
func (f *offers) next(ctx context.Context, u *use) (*index.Version, error) {
	v, err := u.plugin.Best(u.compatible())
	if err != nil || !index.Newer(v.Version, u.version) {
		return nil, nil //nolint:nilerr // outdated says what is yanked
	}
	if v, err = f.best(ctx, u.plugin, u.compatible()); err != nil || !index.Newer(v.Version, u.version) {
		return nil, err
	}
	return v, nil
}

func newPluginUpgrade(p *program) *cobra.Command {
	o := installOptions{runOptions: runOptions{program: p}}
	cmd := &cobra.Command{
		Use:   "upgrade [NAME[@RANGE]…] --index REFERENCE",
		Short: "Install newer versions of plugins, and show their new permissions",
		Long: `Upgrade replaces plugins by the newest version in the index that is compatible with the one in
use, or in the RANGE; without a NAME it looks at all of them. Before it asks, it prints what
changes: versions, permissions, signers. It writes the configuration and the lock file, or
the plugin folder, completely or not at all. Other settings of a plugin stay as they are.`,
		Example: `  berth plugin upgrade --index ghcr.io/team/index --verification-policy policy.yaml --config scheduler.yaml
  berth plugin upgrade rack-aware@2 --index ghcr.io/team/index --verification-policy policy.yaml --plugin-dir plugins`,
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.market.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return o.upgrade(ctx, client, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *installOptions) upgrade(ctx context.Context, client *oci.Client, names []string, stdout, stderr io.Writer) error {
	wanted := make([]index.Wanted, len(names))
	for i, name := range names {
		var err error
		if wanted[i], err = index.ParseWanted(name); err != nil {
			return err
		}
	}
	f, err := o.begin(ctx, client, plainly(stderr))
	if err != nil {
		return err
	}
	used, err := o.used(ctx, f.File)
	if err != nil {
		return err
	}
	targets, err := f.upgrades(ctx, used, wanted)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		_, err := fmt.Fprintf(stdout, "Nothing to upgrade: %s of the index in use.\n", count(len(used), "plugin"))
		return writing(err)
	}
	var p *proposal
	if o.pluginDir != "" {
		p, err = o.upgradeFiles(ctx, targets)
	} else {
		p, err = o.upgradeConfig(ctx, f.File, targets, plainly(stderr))
	}
	if err != nil {
		return err
	}
	return o.agree(ctx, p, stdout, stderr)
}

// upgrade is a plugin and the version that replaces it.
type upgrade struct {
	use
	to *index.Version
}

// upgrades chooses the versions that replace others: those wanted, or all that are newer,
// compatible and admitted.
func (f *offers) upgrades(ctx context.Context, used []use, wanted []index.Wanted) ([]upgrade, error) {
	for _, w := range wanted {
		if !slices.ContainsFunc(used, func(u use) bool { return u.plugin.Name == w.Name }) {
			return nil, fmt.Errorf("%s is not in use, or not from this index: berth plugin install %s installs it", w.Name, w)
		}
	}
	var out []upgrade
	var errs []error
	for _, u := range used {
		w, named := u.compatible(), false
		if i := slices.IndexFunc(wanted, func(w index.Wanted) bool { return w.Name == u.plugin.Name }); i >= 0 {
			named = true
			if wanted[i].Range != "" {
				w = wanted[i]
			}
		} else if len(wanted) > 0 {
			continue
		}
		v, err := u.plugin.Best(w)
		if err == nil && (u.listed == nil || v.Image != u.listed.Image) {
			if v, err = f.best(ctx, u.plugin, w); err != nil {
				return nil, err
			}
		}
		switch {
		case err != nil && named:
			errs = append(errs, err)
		case err != nil:
			f.tell(fmt.Sprintf("%s stays at %s: %v", u.locked.Name, u.version, err))
		case u.listed != nil && v.Image == u.listed.Image:
		case w == u.compatible() && !index.Newer(v.Version, u.version): // never back, but if it is asked for
		default:
			out = append(out, upgrade{u, v})
		}
	}
	return out, errors.Join(errs...)
}

// upgradeConfig changes the images of plugins in the configuration, and their grants
// where the new version asks for more.
func (o *installOptions) upgradeConfig(ctx context.Context, f *index.File, targets []upgrade, tell func(string)) (*proposal, error) {
	edit, err := o.readConfig()
	if err != nil {
		return nil, err
	}
	changed := make([]bool, len(targets))
	var wrong error
	err = edit.Each(func(name string, args func(...string) string) map[string]any {
		for i := range targets {
			t := &targets[i]
			if name != t.locked.Name || "oci://"+args("module", "image") != t.locked.Source {
				continue
			}
			changed[i] = true
			named := map[string]any{"image": source(t.plugin, t.to)}
			if args("module", "digest") != "" {
				named["digest"] = t.to.Module
			}
			fields := map[string]any{"module": named}
			if missing := t.to.Grants.Missing(&t.locked.Grants); !missing.Empty() {
				grants, err := asFields(union(&t.locked.Grants, &t.to.Grants.ManifestDirectives))
				wrong = errors.Join(wrong, err)
				fields["grants"] = grants
			}
			return fields
		}
		return nil
	})
	if err := errors.Join(err, wrong); err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	var images []string
	for i := range targets {
		if t := &targets[i]; !changed[i] {
			return nil, fmt.Errorf("%s: it does not name %s as %s does, %s: run berth plugin lock", o.config, t.locked.Name, o.lock, t.locked.Source)
		}
		images = append(images, targets[i].to.Image)
	}
	p, err := o.propose(ctx, f, edit, tell)
	if err != nil {
		return nil, err
	}
	return p, areListed(f, p.loaded, images...)
}
