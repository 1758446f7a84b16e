package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

type pluginIndexOptions struct {
	publishOptions
	remove   []string
	announce []string
}

func newPluginIndex() *cobra.Command {
	var o pluginIndexOptions
	cmd := &cobra.Command{
		Use:   "index INDEX [REPOSITORY…] --key FILE",
		Short: "Publish a signed index of the plugins in repositories",
		Long: `Index makes the next index: it looks for the versions of plugins in the repositories, and
in those that the index has already, signs the list, and publishes it at INDEX. An index has a
serial and an expiry, so run the command again from time to time. A version that cannot be
used, or has another digest than before, is left out with a warning.

One of the keys must have signed the index before, or a policy that --verification-policy
names must have in its indexes the one that did. --announce tells users of a key that will
sign later, so that they can add it to their policies in time. With a policy, index lists only
versions that it admits, and takes out those that it does not admit any more, but for yanked
ones.`,
		Example: `  berth plugin index ghcr.io/team/index ghcr.io/team/rack-aware --key catalogue.key
  berth plugin index ghcr.io/team/index --key catalogue.key --valid-for 168h
  berth plugin index ghcr.io/team/index --key catalogue.key --announce next.pub`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("the index is missing: write %s INDEX REPOSITORY --key FILE", cmd.CommandPath())
			}
			return nil
		},
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return o.run(ctx, client, args[0], args[1:], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.announce, "announce", nil,
		"public key `FILE` that will sign the index later, beside those announced before; repeatable")
	f.StringArrayVar(&o.remove, "remove", nil, "take the plugin of this `NAME` out of the index; repeatable")
	o.flags(f)
	return cmd
}

func (o *pluginIndexOptions) run(ctx context.Context, client *oci.Client, reference string, repositories []string, stdout, stderr io.Writer) error {
	announced, err := readPublicKeys(ctx, "announce", o.announce)
	if err != nil {
		return fmt.Errorf("--announce: %w", err)
	}
	p, err := o.begin(ctx, client, reference, stderr)
	if err != nil {
		return err
	}
	if p.before == nil && len(repositories) == 0 {
		return errors.New("nothing to list: there is no index yet, and no REPOSITORY is named")
	}
	if p.before != nil {
		for _, name := range o.remove {
			if err := p.before.Remove(name); err != nil {
				return fmt.Errorf("--remove: %w", err)
			}
		}
	}
	l := &listing{
		client: client, before: p.before, policy: p.policy, keys: p.public(), tell: plainly(stderr), refused: map[string]bool{},
	}
	if p.policy != nil {
		l.keys = append(l.keys, p.policy.Keys(time.Now())...)
	}
	next, err := l.next(ctx, repositories, o.valid)
	if err != nil {
		return err
	}
	next.Announce(announced, p.public())
	if err := next.Raise(o.serial); err != nil {
		return fmt.Errorf("--serial-at-least: %w", err)
	}
	return p.publish(ctx, next, stdout)
}

// next returns the next index. Of the repositories that are named, each must have a plugin that can be listed.
func (l *listing) next(ctx context.Context, named []string, valid time.Duration) (*index.File, error) {
	found, err := l.all(ctx, named)
	if err != nil {
		return nil, err
	}
	if l.before != nil {
		l.before.Drop(func(p *index.Plugin, v *index.Version) bool { return l.refused[p.Repository+"@"+v.Image] })
	}
	next, left, err := index.Next(l.before, found, time.Now(), valid)
	if err != nil {
		return nil, err
	}
	for i := range left {
		switch x := &left[i]; {
		case x.Version != "":
			l.tell(x.Err.Error())
		case slices.Contains(named, x.Repository):
			return nil, x.Err
		default:
			l.stays(x.Repository, x.Err)
		}
	}
	return next, nil
}

// all describes the plugins of the repositories, and of those that were listed before. One of the latter that does not answer in its
// part of the time stays as it was: nobody who is listed can stop the index.
func (l *listing) all(ctx context.Context, repositories []string) ([]index.Plugin, error) {
	var out []index.Plugin
	for _, repository := range repositories {
		p, err := l.plugin(ctx, repository)
		if err != nil {
			return nil, err
		}
		out = append(out, *p)
	}
	if l.before == nil {
		return out, nil
	}
	var listed []string
	for i := range l.before.Plugins {
		if repository := l.before.Plugins[i].Repository; !slices.Contains(repositories, repository) && !slices.Contains(listed, repository) {
			listed = append(listed, repository)
		}
	}
	for i, repository := range listed {
		p, err := l.inTime(ctx, repository, len(listed)-i)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			l.stays(repository, err)
		default:
			out = append(out, *p)
		}
	}
	return slices.DeleteFunc(out, func(p index.Plugin) bool { return len(p.Versions) == 0 }), nil
}

func (l *listing) stays(repository string, err error) {
	l.tell(plain.Line(fmt.Sprintf("%s stays as it was listed: %v", repository, err), maxCell))
}

// inTime is plugin, in an equal part of the time that is left for so many repositories and for publishing the index.
func (l *listing) inTime(ctx context.Context, repository string, repositories int) (*index.Plugin, error) {
	end, limited := ctx.Deadline()
	if !limited {
		return l.plugin(ctx, repository)
	}
	part := time.Until(end) / time.Duration(repositories+1)
	ctx, cancel := context.WithTimeout(ctx, part)
	defer cancel()
	p, err := l.plugin(ctx, repository)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("its registry did not answer all requests within %v", part.Round(time.Millisecond))
	}
	return p, err
}

type pluginYankOptions struct {
	publishOptions
	index string
	yank  index.Yank
	undo  bool
}

func newPluginYank() *cobra.Command {
	var o pluginYankOptions
	cmd := &cobra.Command{
		Use:   "yank NAME@VERSION --index REFERENCE --key FILE --reason TEXT",
		Short: "Advise against a version of a plugin, in the index",
		Long: `Yank marks a version in the index: install, upgrade and lock refuse it from then on. A yank
does not stop a locked version, which starts with a warning; plugin status and a metric show
it. To keep a version from starting, revoke its digest in the policy.`,
		Example: `  berth plugin yank rack-aware@1.2.0 --index ghcr.io/team/index --key catalogue.key \
    --reason 'it counts racks twice' --severity high --fixed 1.2.1
  berth plugin yank rack-aware@1.2.0 --index ghcr.io/team/index --key catalogue.key --undo`,
		Args:    oneArgument("plugin", "NAME@VERSION --index REFERENCE --key FILE --reason TEXT"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return o.run(ctx, client, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	indexFlag(f, &o.index)
	f.StringVar(&o.yank.Reason, "reason", "", "`TEXT` that says why")
	f.StringVar(&o.yank.Severity, "severity", "", "how bad it is, a `WORD`: "+strings.Join(index.Severities(), ", "))
	f.StringVar(&o.yank.Fixed, "fixed", "", "`VERSION` of the index from which on it is mended")
	f.StringVar(&o.yank.Successor, "successor", "", "`VERSION`, or NAME@VERSION, of the index to use instead")
	f.BoolVar(&o.undo, "undo", false, "take a yank back")
	o.flags(f)
	return cmd
}

func (o *pluginYankOptions) run(ctx context.Context, client *oci.Client, plugin string, stdout, stderr io.Writer) error {
	w, err := index.ParseWanted(plugin)
	switch {
	case err != nil:
		return err
	case w.Range == "":
		return fmt.Errorf("%s: a yank is of one version: write NAME@VERSION", plugin)
	case o.index == "":
		return errors.New("--index is missing: name the index, or set BERTH_INDEX")
	case o.undo && o.yank != index.Yank{}:
		return errors.New("--undo takes no --reason, --severity, --fixed or --successor")
	case !o.undo && o.yank.Reason == "":
		return errors.New("--reason is missing: say why, for who has the version in use")
	}
	p, err := o.begin(ctx, client, o.index, stderr)
	if err != nil {
		return err
	}
	if p.before == nil {
		return fmt.Errorf("%s: there is no such index", p.ref)
	}
	next, _, err := index.Next(p.before, nil, time.Now(), o.valid)
	if err != nil {
		return err
	}
	yank := &o.yank
	if o.undo {
		yank = nil
	}
	if err := next.Mark(w.Name, w.Range, yank); err != nil {
		return err
	}
	if err := next.Raise(o.serial); err != nil {
		return fmt.Errorf("--serial-at-least: %w", err)
	}
	return p.publish(ctx, next, stdout)
}
