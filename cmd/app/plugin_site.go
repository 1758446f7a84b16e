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

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/site"
)

func newPluginSite() *cobra.Command {
	var o indexOptions
	cmd := &cobra.Command{
		Use:   "site DIR --index REFERENCE",
		Short: "Write the pages of an index",
		Long: `Site writes static pages of an index into a folder: a list of its plugins, and a page for each
with its versions, permissions, cost, signers, README and the command that installs it. Any
web server can serve the pages, and so can berth registry serve --site. They need no script,
and show HTML and pictures in READMEs as text.`,
		Example: `  berth plugin site pages --index ghcr.io/team/index --verification-policy policy.yaml`,
		Args:    oneArgument("folder", "DIR --index REFERENCE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return o.site(ctx, client, args[0], cmd.OutOrStdout(), plainly(cmd.ErrOrStderr()))
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.flags(f)
	return cmd
}

func (o *indexOptions) site(ctx context.Context, client *oci.Client, dir string, stdout io.Writer, tell func(string)) error {
	f, err := o.read(ctx, client, tell)
	if err != nil {
		return err
	}
	rules, err := readPolicy(ctx, "verification-policy", o.policy)
	if err != nil {
		return err
	}
	plugins := make([]site.Plugin, len(f.Plugins))
	for i := range f.Plugins {
		p := &plugins[i]
		p.Plugin, p.Latest = &f.Plugins[i], f.Plugins[i].Latest()
		if err := look(ctx, client, rules, p); err != nil { // its registry must not keep the others from the site
			tell(fmt.Sprintf("%s: %v", p.Name, err))
		}
	}
	pages, err := site.Pages(f, o.index, plugins)
	if err != nil {
		return err
	}
	if err := writePages(dir, pages); err != nil {
		return &failure{err}
	}
	_, err = fmt.Fprintf(stdout, "%s: %s\n", filepath.Join(dir, "index.html"), count(len(plugins), "plugin"))
	return writing(err)
}

// look finds who signed the image of a plugin, and its README.
func look(ctx context.Context, client *oci.Client, rules *policy.Policy, p *site.Plugin) error {
	p.Signed = "not known: its registry does not answer"
	store, image, err := openImage(ctx, client, source(p.Plugin, p.Latest))
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it was only read
	bundles, lies, err := store.Attachments(ctx, image.Descriptor, oci.BundleType)
	if err != nil {
		return err
	}
	p.Signed = judged(rules, p.Plugin, p.Latest, bundles, lies)
	readmes, _, err := store.Attachments(ctx, image.Descriptor, oci.ReadmeType)
	for _, a := range readmes {
		if a.Digest.String() == p.Latest.Docs {
			p.Readme = string(a.Data)
		}
	}
	return err
}

// judged says in words what the policy says of an image.
func judged(rules *policy.Policy, p *index.Plugin, v *index.Version, bundles []oci.Attachment, lies []error) string {
	subject := &policy.Subject{Name: p.Name, Version: v.Version, Publisher: v.Publisher, Repository: p.Repository, Module: v.Module, Image: v.Image, Lies: lies}
	for _, a := range bundles {
		subject.Bundles = append(subject.Bundles, a.Data)
	}
	signers, err := rules.Judge(subject, time.Now())
	switch {
	case err != nil:
		return err.Error()
	case len(signers) == 0:
		return "none; the policy admits it without"
	}
	return "signed by " + strings.Join(signers, ", ")
}

// writePages writes pages, and removes those of plugins that are gone.
func writePages(dir string, pages map[string][]byte) error {
	below := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(below, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(below, "*.html"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range old {
		if pages["plugins/"+filepath.Base(path)] == nil {
			errs = append(errs, os.Remove(path))
		}
	}
	for path, text := range pages {
		errs = append(errs, replaceFile(filepath.Join(dir, filepath.FromSlash(path)), text))
	}
	return errors.Join(errs...)
}
