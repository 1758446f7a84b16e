package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/module"
)

func newPluginPull() *cobra.Command {
	var o marketOptions
	var out string
	cmd := &cobra.Command{
		Use:   "pull REFERENCE",
		Short: "Download a module from an OCI registry",
		Long: `Pull downloads the module of an OCI image, verifies its digest, checks the module and
its manifest as inspect does, and writes it to a file. It refuses an image whose
annotations contradict the manifest in the module.

Pull does not check signatures: see berth plugin verify.`,
		Example: `  berth plugin pull ghcr.io/team/rack-aware:1.2.0
  berth plugin pull oci-archive:gap.tar:1.2.0 -o /etc/berth/plugins/rack-aware.wasm`,
		Args:    oneArgument("reference", "REGISTRY/REPOSITORY:TAG"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				image, l, err := pullImage(ctx, client, args[0])
				if err != nil {
					return err
				}
				file := out
				if file == "" {
					file = l.Manifest.Name + ".wasm"
				}
				if err := replaceFile(file, l.Bytes); err != nil {
					return &failure{err}
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s, %s, %s\n%s\n", file, l.Manifest.Name, l.Manifest.Version,
					size(int64(len(l.Bytes))), l.Digest, image.Ref.At(image.Descriptor.Digest))
				return writing(err)
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&out, "output", "o", "", "`FILE` to write; NAME.wasm in the current folder if not given, with the NAME in the manifest")
	o.flags(f)
	return cmd
}

// openImage opens the place of an image and finds the image. The caller closes the store.
func openImage(ctx context.Context, client *oci.Client, reference string) (*oci.Store, *oci.Image, error) {
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return nil, nil, err
	}
	store, err := client.Open(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	image, err := store.Image(ctx, ref.Name())
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, image, nil
}

// pullImage downloads an image and its module, and checks that they agree.
func pullImage(ctx context.Context, client *oci.Client, reference string) (*oci.Image, *module.Loaded, error) {
	store, image, err := openImage(ctx, client, reference)
	if err != nil {
		return nil, nil, err
	}
	defer store.Close() //nolint:errcheck // it was only read
	data, err := store.Module(ctx, image)
	if err != nil {
		return nil, nil, err
	}
	l, err := module.Parse(image.Ref.String(), data)
	if err != nil {
		return nil, nil, err
	}
	return image, l, image.CheckAnnotations(l.Manifest)
}

func newPluginCopy() *cobra.Command {
	var o marketOptions
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy an image with its signatures between registries, folders and tarballs",
		Long: `Copy copies an image, or an index, with everything attached to it, including signatures,
README and licence. It changes nothing, so the digest and the signatures stay valid. To cross
an air gap, copy to a tarball: oci-archive:FILE:TAG. A tarball may hold several plugins. If
TO has no tag, copy uses the tag of FROM.`,
		Example: `  berth plugin copy ghcr.io/team/rack-aware:1.2.0 oci-archive:gap.tar:rack-aware-1.2.0
  berth plugin copy oci-archive:gap.tar:rack-aware-1.2.0 registry.internal/rack-aware:1.2.0`,
		Args:    twoArguments("FROM TO"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				from, err := oci.ParseReference(args[0])
				if err != nil {
					return err
				}
				to, err := oci.ParseReference(args[1])
				if err != nil {
					return err
				}
				copied, err := client.Copy(ctx, from, to)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), to.At(copied.Digest))
				return writing(err)
			})
		},
	}
	o.flags(cmd.Flags())
	return cmd
}
