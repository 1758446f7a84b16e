package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

type pluginInstallOptions struct {
	installOptions
	profile string
	with    string
}

func newPluginInstall(p *program) *cobra.Command {
	o := pluginInstallOptions{installOptions: installOptions{runOptions: runOptions{program: p}}}
	cmd := &cobra.Command{
		Use:   "install NAME[@RANGE] --index REFERENCE",
		Short: "Install a plugin of an index",
		Long: `Install finds the newest version of a plugin in an index that is in the range, and verifies it
as the policy says. It prints in words what the plugin may see and do, and asks for consent.
Then it writes the plugin into a configuration file and its lock file, or into a plugin
folder: completely, or not at all. Install refuses a yanked version. It passes over versions
that the policy refuses, and names them.

RANGE is a version or a range of them, as in 1.2.0, ^1.2 or ">=1.2, <2".`,
		Example: `  berth plugin install rack-aware@^1.2 --index ghcr.io/team/index --verification-policy policy.yaml --config scheduler.yaml
  berth plugin install rack-aware --index ghcr.io/team/index --verification-policy policy.yaml --plugin-dir plugins --yes`,
		Args:    oneArgument("plugin", "NAME[@RANGE] --index REFERENCE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.market.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return o.run(ctx, client, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.flags(cmd.Flags())
	cmd.Flags().StringVar(&o.profile, "profile", "", "`NAME` of the profile; all profiles if not given")
	cmd.Flags().StringVar(&o.with, "plugin-config", "", "configuration `FILE` of the plugin")
	return cmd
}

func (o *pluginInstallOptions) run(ctx context.Context, client *oci.Client, plugin string, stdout, stderr io.Writer) error {
	w, err := index.ParseWanted(plugin)
	if err != nil {
		return err
	}
	f, err := o.begin(ctx, client, plainly(stderr))
	if err != nil {
		return err
	}
	x, _, err := f.Resolve(w)
	if err != nil {
		return err
	}
	v, err := f.best(ctx, x, w)
	if err != nil {
		return err
	}
	fields, err := o.fields(ctx)
	if err != nil {
		return err
	}
	var p *proposal
	if o.pluginDir != "" {
		p, err = o.intoFolder(ctx, x, v, fields)
	} else {
		p, err = o.intoConfig(ctx, f.File, x, v, fields, plainly(stderr))
	}
	if err != nil && fields == nil && strings.Contains(err.Error(), source(x, v)+": config: ") {
		return fmt.Errorf("%w\nname a file with the plugin's configuration with --plugin-config", err)
	}
	if err != nil {
		return err
	}
	return o.agree(ctx, p, stdout, stderr)
}

// fields reads the plugin's configuration as it is written; nil if there is none.
func (o *pluginInstallOptions) fields(ctx context.Context) (*yaml.Node, error) {
	if o.with == "" {
		return nil, nil
	}
	text, err := bounded.File(ctx, o.with, abi.MaxConfigSize)
	if err != nil {
		return nil, unreadable(err, "plugin-config", o.with)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("--plugin-config: %s: %s", o.with, plain.Line(err.Error(), 1<<10))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// installed is the args of a plugin as they are written.
type installed struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Module     map[string]string `yaml:"module"`
	Grants     map[string]any    `yaml:"grants,omitempty"`
	Config     *yaml.Node        `yaml:"config,omitempty"`
}

func (o *pluginInstallOptions) intoConfig(ctx context.Context, f *index.File, x *index.Plugin, v *index.Version, fields *yaml.Node, tell func(string)) (*proposal, error) {
	edit, err := o.readConfig()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(o.config); errors.Is(err, fs.ErrNotExist) {
		tell(o.config + " is new, and its only profile is default-scheduler: a scheduler that runs with it places all pods that name no other. " +
			"Set another schedulerName if kube-scheduler stays")
	}
	grants, err := asFields(v.Grants.ManifestDirectives)
	if err != nil {
		return nil, err
	}
	err = edit.Add(o.profile, x.Name, installed{
		APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindWasmPluginArgs,
		Module: map[string]string{"image": source(x, v)}, Grants: grants, Config: fields,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	p, err := o.propose(ctx, f, edit, tell)
	if err != nil {
		return nil, err
	}
	return p, areListed(f, p.loaded, v.Image)
}

// areListed holds modules of some images against the index.
func areListed(f *index.File, loaded []*module.Loaded, images ...string) error {
	for _, l := range loaded {
		if !slices.Contains(images, l.Image) {
			continue
		}
		for i := range f.Plugins {
			for j := range f.Plugins[i].Versions {
				if v := &f.Plugins[i].Versions[j]; v.Image == l.Image {
					if err := isListed(&f.Plugins[i], v, l); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (o *pluginInstallOptions) intoFolder(ctx context.Context, x *index.Plugin, v *index.Version, fields *yaml.Node) (*proposal, error) {
	if err := o.isFree(x.Name); err != nil {
		return nil, err
	}
	modules, err := o.modules.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	ref := module.Reference{Image: source(x, v), Grants: v.Grants.ManifestDirectives}
	beside := map[string]any{}
	if !v.Grants.Empty() {
		if beside["grants"], err = asFields(v.Grants.ManifestDirectives); err != nil {
			return nil, err
		}
	}
	if fields != nil {
		beside["config"], ref.ConfigFile = fields, o.with
	}
	m, err := modules.Load(ref)
	if err != nil {
		return nil, err
	}
	if err := isListed(x, v, m.Loaded); err != nil {
		return nil, err
	}
	path := inFolder(o.pluginDir, x.Name)
	steps := []step{{module.OriginFile(path, m.Loaded.Digest), m.Loaded.Origin}}
	if len(beside) > 0 {
		text, err := config.SetFields(nil, beside)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{strings.TrimSuffix(path, ".wasm") + ".yaml", text})
	}
	return &proposal{
		changes: lock.Changes(nil, []lock.Plugin{m.Loaded.Locked(&ref)}),
		steps:   append(steps, step{path, m.Loaded.Bytes}), // last: it is not used before
	}, nil
}

// isFree refuses a name that a module of the folder has.
func (o *pluginInstallOptions) isFree(name string) error {
	entries, err := module.ReadFolder(o.pluginDir)
	if err != nil {
		return fmt.Errorf("--plugin-dir: %w", err)
	}
	for i := range entries {
		e := &entries[i]
		l, err := module.Read(e.Path)
		if e.Path == inFolder(o.pluginDir, name) || err == nil && (l.Manifest.Name == name || e.Reference.Name == name) {
			return fmt.Errorf("%s is there already: upgrade it with berth plugin upgrade %s", e.Path, name)
		}
	}
	return nil
}

func newPluginUninstall(p *program) *cobra.Command {
	o := installOptions{runOptions: runOptions{program: p}}
	cmd := &cobra.Command{
		Use:   "uninstall NAME",
		Short: "Take a plugin out of a configuration or a plugin folder",
		Long: `Uninstall takes a plugin out of all profiles of a configuration file, and out of the lock
file; or it removes its files from a plugin folder. It needs no network.`,
		Example: `  berth plugin uninstall rack-aware --config scheduler.yaml
  berth plugin uninstall rack-aware --plugin-dir plugins`,
		Args:    oneArgument("plugin", "NAME"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.place(); err != nil {
				return err
			}
			steps, err := o.without(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := apply(steps); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", args[0])
			return writing(err)
		},
	}
	o.flags(cmd.Flags())
	for _, name := range []string{"index", "verification-policy", "module-cache", "yes", "timeout"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
	cmd.Flags().Lookup("config").Usage = "KubeSchedulerConfiguration `FILE` to change, with the lock file"
	return cmd
}

// without returns the steps that take a plugin out.
func (o *installOptions) without(ctx context.Context, name string) ([]step, error) {
	if o.pluginDir != "" {
		return o.withoutFiles(name)
	}
	edit, err := o.readConfig()
	if err != nil {
		return nil, err
	}
	if err := edit.Remove(name); err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	text, err := edit.Text()
	if err != nil {
		return nil, err
	}
	steps := []step{{o.config, text}}
	before, err := lockedBefore(ctx, o.lock)
	if before == nil || err != nil {
		return steps, err
	}
	final, err := lock.Text(slices.DeleteFunc(slices.Clone(before.Plugins), func(p lock.Plugin) bool { return p.Name == name }))
	return append(steps, step{o.lock, final}), err
}

// withoutFiles returns the steps that remove a plugin's files. Its module goes first, so
// that it is never used without what is beside it.
func (o *installOptions) withoutFiles(name string) ([]step, error) {
	entries, err := module.ReadFolder(o.pluginDir)
	if err != nil {
		return nil, fmt.Errorf("--plugin-dir: %w", err)
	}
	for i := range entries {
		path := entries[i].Path
		data, err := bounded.Regular(path, wire.MaxModuleSize)
		if err != nil {
			return nil, err
		}
		l, err := module.Parse(path, data)
		if path != inFolder(o.pluginDir, name) && (err != nil || l.Manifest.Name != name) {
			continue
		}
		return []step{
			{path, nil}, {strings.TrimSuffix(path, ".wasm") + ".yaml", nil}, {path + signing.Suffix, nil}, {module.OriginFile(path, module.Digest(data)), nil},
		}, nil
	}
	return nil, errors.New(o.pluginDir + " has no plugin " + name)
}
