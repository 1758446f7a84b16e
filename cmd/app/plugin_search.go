package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/module"
)

func newPluginSearch() *cobra.Command {
	var o indexOptions
	var output string
	cmd := &cobra.Command{
		Use:   "search [WORD…] --index REFERENCE",
		Short: "List the plugins of an index",
		Long: `Search lists the plugins of an index whose name, description, publisher, licence, extension
points or reads contain all the words. The index must be signed as the policy says, must not have
expired, and must not be older than one that was seen before.`,
		Example: `  berth plugin search rack --index ghcr.io/team/index --verification-policy policy.yaml`,
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				f, err := o.read(ctx, client, plainly(cmd.ErrOrStderr()))
				if err != nil {
					return err
				}
				found := f.Search(args...)
				if output == "json" {
					return writing(writeJSON(cmd.OutOrStdout(), found))
				}
				p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
				p.found(found)
				return writing(p.err)
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&output, "output", "o", "text", "output `FORMAT`: text or json")
	o.flags(f)
	return cmd
}

// found prints plugins of an index.
func (p *printer) found(plugins []*index.Plugin) {
	if len(plugins) == 0 {
		p.text("No plugin has all the words.")
		return
	}
	rows := make([]table.Row, 0, len(plugins))
	for _, x := range plugins {
		v := x.Latest()
		number := v.Version
		if v.Yanked != nil {
			number += " (yanked)"
		}
		rows = append(rows, table.Row{x.Name, number, v.Publisher, v.Description})
	}
	p.table([]column{{head: "NAME"}, {head: "VERSION"}, {head: "PUBLISHER", least: 10}, {head: "DESCRIPTION", least: 20}}, rows)
}

func newPluginInfo() *cobra.Command {
	var o indexOptions
	var output string
	var readme, parts bool
	cmd := &cobra.Command{
		Use:   "info NAME[@RANGE] --index REFERENCE",
		Short: "Show what an index says of a plugin",
		Long: `Info shows a plugin of an index: what it may see and do, its versions, which of them are
yanked, and what its author measured; and the fields of its configuration, which are in the
module. RANGE is a version or a range of them, as in ^1.2.`,
		Example: `  berth plugin info rack-aware --index ghcr.io/team/index --verification-policy policy.yaml
  berth plugin info rack-aware@1.2.0 --readme`,
		Args:    oneArgument("plugin", "NAME[@RANGE] --index REFERENCE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			w, err := index.ParseWanted(args[0])
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				f, err := o.read(ctx, client, plainly(cmd.ErrOrStderr()))
				if err != nil {
					return err
				}
				x, v, err := described(f, w)
				if err != nil {
					return err
				}
				if output == "json" {
					return writing(writeJSON(cmd.OutOrStdout(), &index.Plugin{Name: x.Name, Repository: x.Repository, Versions: []index.Version{*v}}))
				}
				p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
				switch {
				case readme:
					return p.readme(ctx, client, x, v)
				case parts:
					return p.parts(ctx, client, x, v)
				}
				image, l, err := pullImage(ctx, client, source(x, v))
				if err == nil {
					l.Image = image.Descriptor.Digest.String()
					err = isListed(x, v, l)
				}
				if err != nil {
					l = nil
					plainly(cmd.ErrOrStderr())(fmt.Sprintf("the configuration of %s %s is not shown: %v", x.Name, v.Version, err))
				}
				p.info(x, v, l, o.index)
				return writing(p.err)
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&output, "output", "o", "text", "output `FORMAT`: text or json")
	f.BoolVar(&readme, "readme", false, "print the README instead")
	f.BoolVar(&parts, "sbom", false, "print what the module was built from instead, as CycloneDX JSON")
	cmd.MarkFlagsMutuallyExclusive("readme", "sbom")
	o.flags(f)
	return cmd
}

// described returns the version that would be installed, or else, as it can be looked at
// all the same, one that is yanked.
func described(f *index.File, w index.Wanted) (*index.Plugin, *index.Version, error) {
	x, v, err := f.Resolve(w)
	if x == nil || err == nil {
		return x, v, err
	}
	if v = x.Get(w.Range); v != nil {
		return x, v, nil
	}
	if w.Range == "" {
		return x, x.Latest(), nil
	}
	return nil, nil, err
}

// info prints a version of a plugin, with the configuration of its module, which is optional.
func (p *printer) info(x *index.Plugin, v *index.Version, l *module.Loaded, reference string) {
	p.text("%s %s, a plugin for ABI %s and later minor versions", x.Name, v.Version, v.ABI)
	if v.Description != "" {
		p.text("%s", v.Description)
	}
	if v.Yanked != nil {
		p.text("This version is yanked: %s", v.Yanked.String())
	}
	p.printf("\n")
	for _, f := range []struct{ name, value string }{
		{"Publisher", v.Publisher},
		{"License", v.License},
		{"Image", x.Repository + "@" + v.Image},
		{"Module", v.Module},
		{"Size", size(v.Size)},
		{"SBOM", v.SBOM},
	} {
		if f.value != "" {
			p.printf("%-10s %s\n", f.name, f.value)
		}
	}
	p.printf("\nThe plugin\n")
	for _, text := range lock.Permissions(&lock.Plugin{Points: v.Points, Reads: v.Reads, Grants: v.Grants.ManifestDirectives}) {
		p.printf("  %s\n", text)
	}
	p.printf("\n")
	if l != nil {
		p.configFields(l.Manifest.Config)
	}
	p.measurements(v)
	p.versions(x)
	p.printf("Install it: berth plugin install %s@%s --index %s\n", x.Name, v.Version, reference)
}

// measurements prints what the author measured.
func (p *printer) measurements(v *index.Version) {
	if c := v.Conformance; c != nil {
		p.text("By its author's account it keeps %s of the ABI and breaks %d.", count(c.Kept, "duty"), c.Failed)
		p.printf("\n")
	}
	if len(v.Bench) == 0 {
		return
	}
	p.text("By its author's account, on one core:")
	rows := make([]table.Row, 0, len(v.Bench))
	for _, b := range v.Bench {
		rows = append(rows, table.Row{b.Nodes, seconds(float64(b.PerPod) / 1e9), b.Fuel})
	}
	p.table([]column{{head: "NODES", numbers: true}, {head: "PER POD", numbers: true}, {head: "FUEL", numbers: true}}, rows)
}

// versions prints the versions of a plugin, the newest first.
func (p *printer) versions(x *index.Plugin) {
	rows := make([]table.Row, 0, len(x.Versions))
	for _, v := range slices.Backward(x.Versions) {
		yanked := "-"
		if v.Yanked != nil {
			yanked = v.Yanked.String()
		}
		rows = append(rows, table.Row{v.Version, v.ABI, short(v.Module), yanked})
	}
	p.table([]column{{head: "VERSION"}, {head: "ABI"}, {head: "MODULE"}, {head: "YANKED", least: 20}}, rows)
}

// attached gets an attachment of a version that the index names by its digest.
func attached(ctx context.Context, client *oci.Client, x *index.Plugin, v *index.Version, what, kind, digest string) ([]byte, error) {
	if digest == "" {
		return nil, fmt.Errorf("%s %s has no %s", x.Name, v.Version, what)
	}
	store, image, err := openImage(ctx, client, source(x, v))
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it was only read
	found, _, err := store.Attachments(ctx, image.Descriptor, kind)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(a oci.Attachment) bool { return a.Digest.String() == digest })
	if i < 0 {
		return nil, fmt.Errorf("%s has no %s with the digest %s any more", image.Ref, what, digest)
	}
	return found[i].Data, nil
}

// readme prints the README of a version.
func (p *printer) readme(ctx context.Context, client *oci.Client, x *index.Plugin, v *index.Version) error {
	text, err := attached(ctx, client, x, v, "README", oci.ReadmeType, v.Docs)
	if err != nil {
		return err
	}
	p.print(strings.TrimRight(plain.Lines(text, oci.MaxAttachment), "\n") + "\n")
	return writing(p.err)
}

// parts prints what a version was built from.
func (p *printer) parts(ctx context.Context, client *oci.Client, x *index.Plugin, v *index.Version) error {
	text, err := attached(ctx, client, x, v, "SBOM", oci.SBOMType, v.SBOM)
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("the SBOM of %s %s is not JSON: ask its publisher", x.Name, v.Version)
	}
	p.print(string(plain.JSON(text)))
	return writing(p.err)
}
