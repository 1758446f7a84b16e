package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/cmd/app/scaffold"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

// marketOptions holds the flags of commands that use registries.
type marketOptions struct{ timeout time.Duration }

func (o *marketOptions) flags(f *pflag.FlagSet) {
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "time limit for all requests to registries, as a `DURATION`")
}

// within runs f with the time limit.
func (o *marketOptions) within(ctx context.Context, f func(context.Context, *oci.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	err := f(ctx, oci.New(oci.Config{}))
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return &failure{fmt.Errorf("%w (raise --timeout, now %v)", err, o.timeout)}
	}
	return err
}

type pushOptions struct {
	marketOptions
	readme, license, sbom, conformance, bench, key string
}

func newPluginPush() *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:   "push FILE.wasm|DIR REFERENCE",
		Short: "Publish a module in an OCI registry",
		Long: `Push stores a module as an OCI image, in the CNCF's layout of WebAssembly modules, with
annotations from its manifest. If you name a project's folder, push builds it first, and
attaches its README.md and LICENSE to the image, and what it was built from (berth plugin
sbom). Without a tag, the image gets the module's version as its tag. The same module
always gives the same image. With --key, push also signs the image and what it attaches.

A REFERENCE is REGISTRY/REPOSITORY:TAG, a folder in OCI layout (oci:DIR:TAG), or a tarball
of one (oci-archive:FILE:TAG). Push uses the credentials of docker login.`,
		Example: `  berth plugin push rack-aware.wasm ghcr.io/team/rack-aware
  berth plugin push ./rack-aware localhost:5000/team/rack-aware:1.2.0`,
		Args:    twoArguments("FILE.wasm|DIR REFERENCE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return o.run(ctx, client, args[0], args[1], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.readme, "readme", "", "attach this Markdown `FILE`; the folder's README.md if not given")
	f.StringVar(&o.license, "license", "", "attach this `FILE` with the licence; the folder's LICENSE if not given")
	f.StringVar(&o.sbom, "sbom", "", "attach this `FILE`, a bill of materials as CycloneDX JSON; for a folder, that of berth plugin sbom if not given")
	f.StringVar(&o.conformance, "conformance", "", "attach this `FILE`, which berth plugin conformance -o json wrote; an index shows it")
	f.StringVar(&o.key, "key", "", "private key `FILE` that signs the image and what is attached, as berth plugin sign does")
	f.StringVar(&o.bench, "bench", "", "attach this `FILE`, which berth plugin bench -o json wrote; an index shows it")
	o.flags(f)
	return cmd
}

func (o *pushOptions) run(ctx context.Context, client *oci.Client, plugin, reference string, stdout, stderr io.Writer) error {
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return err
	}
	if ref.Digest != "" {
		return fmt.Errorf("%s: push computes the digest: name a tag, or leave it out for the module's version", reference)
	}
	attachments, err := o.attachments(ctx, plugin)
	if err != nil {
		return err
	}
	target, err := findTarget(ctx, plugin, stderr)
	if err != nil {
		return err
	}
	defer target.remove()
	l, err := module.Read(target.ref.Path)
	if err != nil {
		return target.inWords(err)
	}
	if l.Manifest.Publisher == scaffold.Publisher {
		return target.inWords(fmt.Errorf("%s: its manifest has the publisher %q, as berth plugin new writes it: name yourself there, "+
			"since grants and policies trust a publisher by its name", l.Path, scaffold.Publisher))
	}
	if err := measured(l, attachments); err != nil {
		return target.inWords(err)
	}
	if target.dir != "" && o.sbom == "" {
		parts, err := pluginParts(ctx, target.dir, l)
		if err != nil {
			return err
		}
		if parts != nil {
			attachments = append(attachments, oci.Attachment{Type: oci.SBOMType, Data: parts})
		}
	}
	var key *signing.PrivateKey
	if o.key != "" {
		if key, err = readPrivateKey(ctx, o.key, stderr); err != nil {
			return err
		}
	}
	store, err := client.Create(ctx, ref)
	if err != nil {
		return err
	}
	moved := movedFrom(ctx, store, ref, l)
	image, err := pushAll(ctx, store, l, attachments, key)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	version := tagOf(l)
	switch tag := image.Ref.Tag; {
	case tag != version && index.IsVersion(strings.ReplaceAll(tag, "_", "+")):
		fmt.Fprintf(stderr, "warning: %s has the version %s in its manifest: an index leaves it out; push it without a tag\n", image.Ref, plain.Line(version, maxCell))
	case tag == version && moved != "" && moved != image.Descriptor.Digest:
		fmt.Fprintf(stderr, "warning: %s was %s until now: an index that has it leaves the new one out; raise the version in the manifest\n", image.Ref, moved)
	}
	_, err = fmt.Fprintf(stdout, "%s: %s %s, %s\n%s\n", image.Ref, l.Manifest.Name, l.Manifest.Version, size(int64(len(l.Bytes))), image.Ref.At(image.Descriptor.Digest))
	return writing(err)
}

// tagOf returns the tag that a module gets by default.
func tagOf(l *module.Loaded) string { return strings.ReplaceAll(l.Manifest.Version, "+", "_") }

// movedFrom returns the digest of the image that has the module's tag, if there is one.
func movedFrom(ctx context.Context, store *oci.Store, ref oci.Reference, l *module.Loaded) digest.Digest {
	if ref.Archive != "" { // it is written, not read
		return ""
	}
	image, err := store.Image(ctx, cmp.Or(ref.Tag, tagOf(l)))
	if err != nil {
		return "" // if the place does not answer, push says it
	}
	return image.Descriptor.Digest
}

// measured refuses measurements of another module.
func measured(l *module.Loaded, attachments []oci.Attachment) error {
	v := index.Version{Module: l.Digest}
	for _, a := range attachments {
		var err error
		switch a.Type {
		case oci.ConformanceType:
			err = v.Measured(a.Data, nil)
		case oci.BenchType:
			err = v.Measured(nil, a.Data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w: measure the module that you push", l.Path, err)
		}
	}
	return nil
}

// isCycloneDX refuses a file of another format.
func isCycloneDX(text []byte) error {
	var f struct {
		Format string `json:"bomFormat"`
	}
	if err := json.Unmarshal(text, &f); err != nil || f.Format != "CycloneDX" {
		return errors.New("it is not CycloneDX in JSON: convert it")
	}
	return nil
}

// pushAll stores a module with its attachments, and signs all of it if there is a key.
func pushAll(
	ctx context.Context, store *oci.Store, l *module.Loaded, attachments []oci.Attachment, key *signing.PrivateKey,
) (*oci.Image, error) {
	image, err := store.Push(ctx, l.Bytes, l.Manifest)
	if err != nil {
		return nil, err
	}
	made := []ocispec.Descriptor{image.Descriptor}
	for _, a := range attachments {
		described, err := store.Attach(ctx, image.Descriptor, a)
		if err != nil {
			return nil, fmt.Errorf("%s is pushed, but not all of its attachments: %w", image.Ref, err)
		}
		made = append(made, described)
	}
	if key == nil {
		return image, nil
	}
	for _, described := range made {
		if err := signDigest(ctx, store, described, key); err != nil {
			return nil, fmt.Errorf("%s is pushed, but not signed: %w", image.Ref, err)
		}
	}
	return image, nil
}

// attachments reads the files to attach: those that flags name, and those in the
// project's folder.
func (o *pushOptions) attachments(ctx context.Context, plugin string) ([]oci.Attachment, error) {
	info, err := os.Stat(plugin)
	project := err == nil && info.IsDir()
	var out []oci.Attachment
	for _, a := range []struct{ kind, flag, named, found string }{
		{oci.ReadmeType, "readme", o.readme, "README.md"},
		{oci.LicenseType, "license", o.license, "LICENSE"},
		{oci.SBOMType, "sbom", o.sbom, ""},
		{oci.ConformanceType, "conformance", o.conformance, ""},
		{oci.BenchType, "bench", o.bench, ""},
	} {
		file := a.named
		if file == "" && project && a.found != "" {
			file = filepath.Join(plugin, a.found)
			if _, err := os.Stat(file); err != nil {
				continue
			}
		}
		if file == "" {
			continue
		}
		data, err := bounded.File(ctx, file, oci.MaxAttachment)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", a.flag, err)
		}
		if a.kind == oci.SBOMType {
			if err := isCycloneDX(data); err != nil {
				return nil, fmt.Errorf("--%s: %s: %w", a.flag, file, err)
			}
		}
		out = append(out, oci.Attachment{Type: a.kind, Data: data})
	}
	return out, nil
}

// twoArguments requires two arguments; usage names them.
func twoArguments(usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return fmt.Errorf("two arguments are needed, not %d: write %s %s", len(args), cmd.CommandPath(), usage)
		}
		return nil
	}
}
