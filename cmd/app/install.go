package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/module"
)

// defaultLock is the lock file's name.
const defaultLock = "berth.lock"

// installOptions holds the flags of commands that change which plugins run.
type installOptions struct {
	runOptions
	market marketOptions
	lock   string
	yes    bool
}

// flags registers all flags of berth run, as what they say of modules counts, and shows
// those that matter here.
func (o *installOptions) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	o.runOptions.flags(f)
	shown := []string{"index", "config", "plugin-dir", "module-cache", "verification-policy", "lock"}
	f.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shown, flag.Name) })
	f.Lookup("index").Usage = indexUsage
	f.Lookup("config").Usage = "KubeSchedulerConfiguration `FILE` to change, with the lock file; a missing one is created"
	f.Lookup("plugin-dir").Usage = "plugin folder `DIR` to change, instead of a configuration"
	f.Lookup("lock").Usage = "lock `FILE` to write beside the configuration; " + defaultLock + " if not given"
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	o.market.flags(f)
}

// begin checks the flags and reads the index.
func (o *installOptions) begin(ctx context.Context, client *oci.Client, tell func(string)) (*offers, error) {
	if err := o.place(); err != nil {
		return nil, err
	}
	rules, err := readPolicy(ctx, "verification-policy", o.modules.policy)
	if err != nil {
		return nil, err
	}
	f, err := readIndex(ctx, client, o.index, rules, &o.modules.compileOptions, tell)
	if err != nil {
		return nil, err
	}
	out := &offers{File: f, client: client, policy: rules, tell: tell}
	if o.pluginDir == "" {
		out.locked, err = lockedBefore(ctx, o.lock)
	}
	return out, err
}

// offers are the versions of an index that a policy admits.
type offers struct {
	*index.File
	client *oci.Client
	policy *policy.Policy
	locked *lock.File // optional: what was admitted before
	tell   func(string)
}

// best returns the newest version in a range that the policy admits too, and tells of newer ones that the policy refuses: a version that
// somebody forgot to sign stops nobody. If the policy refuses all, it returns the newest, which then fails to load with the reason.
func (f *offers) best(ctx context.Context, p *index.Plugin, w index.Wanted) (*index.Version, error) {
	first, err := p.Best(w)
	if err != nil {
		return nil, err
	}
	left := *p
	left.Versions = slices.Clone(p.Versions)
	var passed []string
	for v := first; err == nil; v, err = left.Best(w) {
		err := judgeListed(ctx, f.client, f.policy, p, v, f.locked)
		var refusal *policy.Refusal
		if !errors.As(err, &refusal) {
			for i, text := range passed {
				if i < mostTold {
					f.tell(text)
				}
			}
			if n := len(passed) - mostTold; n > 0 {
				f.tell(fmt.Sprintf("%s: %s more passed over", p.Name, count(n, "version")))
			}
			return p.Get(v.Version), err
		}
		passed = append(passed, plain.Line(fmt.Sprintf("%s %s is passed over: %v", p.Name, v.Version, err), maxCell))
		number := v.Version
		left.Versions = slices.DeleteFunc(left.Versions, func(v index.Version) bool { return v.Version == number })
	}
	return first, nil
}

// place checks that it is said what to change.
func (o *installOptions) place() error {
	if (o.config == "") == (o.pluginDir == "") {
		return errors.New("name what to change: a configuration file with --config, or a plugin folder with --plugin-dir")
	}
	o.lock, o.modules.lock = o.modules.lock, "" // it is written, not obeyed
	if o.lock == "" {
		o.lock = defaultLock
	}
	return nil
}

// readConfig reads the configuration to change; nothing if there is none yet.
func (o *installOptions) readConfig() (*config.Edit, error) {
	text, err := bounded.Regular(o.config, bounded.Settings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(err, "config", o.config)
	}
	e, err := config.NewEdit(text)
	if err != nil {
		return nil, eachLine(o.config+": ", err)
	}
	return e, nil
}

// proposal is a change that can be made.
type proposal struct {
	loaded  []*module.Loaded
	changes []string // in words
	steps   []step
}

// propose loads all that a changed configuration means, as berth run does, and returns
// what changes in it and in the lock file.
func (o *installOptions) propose(ctx context.Context, f *index.File, edit *config.Edit, tell func(string)) (*proposal, error) {
	text, err := edit.Text()
	if err != nil {
		return nil, err
	}
	before, err := lockedBefore(ctx, o.lock)
	if err != nil {
		return nil, err
	}
	out := &proposal{}
	found, err := o.try(ctx, text, before, out)
	if err != nil {
		return nil, err
	}
	if err := refuseYanked(f, found, before, tell); err != nil {
		return nil, err
	}
	final, err := lock.Text(found)
	if err != nil {
		return nil, err
	}
	between, err := lock.Text(oldAndNew(found, before))
	if err != nil {
		return nil, err
	}
	out.changes = lock.Changes(before, found)
	// With the lock file of both, the configurations of before and after can start.
	out.steps = []step{{o.lock, between}, {o.config, text}, {o.lock, final}}
	return out, nil
}

// oldAndNew is what was found and what was locked before.
func oldAndNew(found []lock.Plugin, before *lock.File) []lock.Plugin {
	out := slices.Clone(found)
	if before == nil {
		return out
	}
	for _, p := range before.Plugins {
		if !slices.ContainsFunc(found, func(q lock.Plugin) bool { return q.Name == p.Name && q.Source == p.Source }) {
			out = append(out, p)
		}
	}
	return out
}

// try loads a configuration that is not written yet.
func (o *installOptions) try(ctx context.Context, text []byte, before *lock.File, out *proposal) ([]lock.Plugin, error) {
	temp, err := os.CreateTemp("", "berth-config-")
	if err != nil {
		return nil, &failure{err}
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // a temporary file
	_, err = temp.Write(text)
	if err := errors.Join(err, temp.Close()); err != nil {
		return nil, &failure{err}
	}
	var found []lock.Plugin
	o.modules.admitted = before
	o.modules.loaded = func(l *module.Loaded, ref *module.Reference) {
		found = append(found, l.Locked(ref))
		out.loaded = append(out.loaded, l)
	}
	modules, err := o.modules.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	tried := o.runOptions
	tried.config = temp.Name()
	if _, _, err := tried.load(ctx, modules); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), temp.Name(), o.config))
	}
	return found, nil
}

// agree prints what changes, asks, and makes the change.
func (o *installOptions) agree(ctx context.Context, p *proposal, stdout, stderr io.Writer) error {
	for _, line := range p.changes {
		if _, err := fmt.Fprintln(stdout, plain.Line(line, maxCell)); err != nil {
			return writing(err)
		}
	}
	where := o.pluginDir
	if where == "" {
		where = o.config + " and " + o.lock
	}
	if err := confirm(ctx, "Change "+where+"?", o.yes, stderr); err != nil {
		return err
	}
	if err := apply(p.steps); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "%s: %s\n", where, count(len(p.changes), "change"))
	return writing(err)
}

// refuseYanked refuses modules that are yanked, in whatever image, but for those that were locked before.
func refuseYanked(f *index.File, found []lock.Plugin, before *lock.File, tell func(string)) error {
	if f == nil {
		return nil
	}
	var errs []error
	for i := range found {
		p, v := f.Yanked(found[i].Module)
		if v == nil {
			continue
		}
		text := fmt.Sprintf("%s %s is yanked: %s", p.Name, v.Version, v.Yanked)
		if before != nil && before.Has(found[i].Module, found[i].Image) {
			tell(text)
			continue
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// source returns the reference of a version: the tag is for people, the digest counts.
func source(p *index.Plugin, v *index.Version) string {
	return p.Repository + ":" + strings.ReplaceAll(v.Version, "+", "_") + "@" + v.Image
}

// isListed refuses a module that is not what the index says of it.
func isListed(p *index.Plugin, v *index.Version, l *module.Loaded) error {
	d := index.Describe(l.Declared()) // an index is of modules, not of how they are configured
	says := func(v *index.Version) string {
		return strings.Join(lock.Permissions(&lock.Plugin{Points: v.Points, Reads: v.Reads, Grants: v.Grants.ManifestDirectives}), ", ")
	}
	for _, c := range [][3]string{
		{"name", p.Name, l.Manifest.Name}, {"version", v.Version, d.Version}, {"publisher", v.Publisher, d.Publisher}, {"licence", v.License, d.License},
		{"ABI", v.ABI, d.ABI}, {"image", v.Image, l.Image}, {"module", v.Module, l.Digest}, {"permissions", says(v), says(&d)},
	} {
		if c[1] != c[2] {
			return fmt.Errorf("%s: the index lists the %s %s, the module has %s: ask the publisher of the index",
				plain.Line(l.Path, 512), c[0], plain.Quote(c[1], 512), plain.Quote(c[2], 512))
		}
	}
	return nil
}

// asFields is a value by the names that its JSON has.
func asFields(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}

// inFolder returns the path of a plugin's module in a plugin folder. A name is a DNS
// label, so it stays in the folder.
func inFolder(dir, name string) string { return filepath.Join(dir, name+".wasm") }

// union is the grants of two.
func union(a, b *wire.ManifestDirectives) wire.ManifestDirectives {
	missing := b.Missing(a)
	return wire.ManifestDirectives{
		Annotations: slices.Concat(a.Annotations, missing.Annotations), Labels: slices.Concat(a.Labels, missing.Labels),
		Objects:  slices.Concat(a.Objects, missing.Objects),
		Nominate: a.Nominate || b.Nominate, Bind: a.Bind || b.Bind, Waiting: a.Waiting || b.Waiting, Activate: a.Activate || b.Activate,
	}
}
