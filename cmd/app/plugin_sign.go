package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

// isFile tells a file from an image's reference.
func isFile(plugin string) bool {
	if isModule(plugin) {
		return true
	}
	info, err := os.Stat(plugin)
	return err == nil && info.Mode().IsRegular()
}

// isReference refuses what is neither a file nor a reference.
func isReference(plugin string) error {
	if _, err := oci.ParseReference(plugin); err != nil {
		return fmt.Errorf("%w, or name a file that exists", err)
	}
	return nil
}

// isModule tells a module's file from other files.
func isModule(file string) bool {
	return strings.HasSuffix(file, ".wasm") && !strings.Contains(file, "://")
}

// fileToSign is a file: a module, or any other, as of a release.
func fileToSign(ctx context.Context, file string) (data []byte, title string, l *module.Loaded, err error) {
	if !isModule(file) {
		data, err = bounded.File(ctx, file, bounded.Program)
		return data, module.Digest(data), nil, err
	}
	if l, err = module.Read(file); err != nil {
		return nil, "", nil, err
	}
	return l.Bytes, titleOf(l), l, nil
}

func titleOf(l *module.Loaded) string { return l.Manifest.Name + " " + l.Manifest.Version }

func newPluginSign() *cobra.Command {
	var o marketOptions
	var key string
	cmd := &cobra.Command{
		Use:   "sign REFERENCE|FILE --key FILE",
		Short: "Sign an image in a registry, or a file",
		Long: `Sign signs an image and attaches the signature to it, or signs a file and writes the
signature beside it, into FILE` + signing.Suffix + `. Both are Sigstore bundles as cosign writes
them, made without a network: cosign verify --key and verify-blob --key accept them.

For an image, sign signs the digest of its manifest, and those of its README, licence, bill of
materials and measurements, which it lists. Before that it checks the module, and refuses an
image whose annotations differ from the module's manifest. Sign also signs an index, for
policies that want several keys. A file need not be a module.`,
		Example: `  berth plugin sign ghcr.io/team/rack-aware:1.2.0 --key team.key
  berth plugin sign rack-aware.wasm --key team.key`,
		Args:    oneArgument("reference or file", "REFERENCE|FILE --key FILE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			private, err := readPrivateKey(cmd.Context(), key, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if isFile(args[0]) {
				return signFile(cmd.Context(), args[0], private, cmd.OutOrStdout())
			}
			if err := isReference(args[0]); err != nil {
				return err
			}
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return signImage(ctx, client, args[0], private, cmd.OutOrStdout(), plainly(cmd.ErrOrStderr()))
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&key, "key", "", "private key `FILE`, as berth plugin keygen or cosign made it")
	o.flags(f)
	return cmd
}

func signFile(ctx context.Context, file string, key *signing.PrivateKey, stdout io.Writer) error {
	data, title, _, err := fileToSign(ctx, file)
	if err != nil {
		return err
	}
	bundle, err := signing.SignFile(key, data)
	if err != nil {
		return err
	}
	if err := replaceFile(file+signing.Suffix, bundle); err != nil {
		return &failure{err}
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, signed by %s\n", file+signing.Suffix, title, key.Public().ID())
	return writing(err)
}

func signImage(
	ctx context.Context, client *oci.Client, reference string, key *signing.PrivateKey, stdout io.Writer, tell func(string),
) error {
	if done, err := signIndex(ctx, client, reference, key, stdout); done {
		return err
	}
	image, l, err := pullImage(ctx, client, reference)
	if err != nil {
		return err
	}
	store, err := client.Create(ctx, image.Ref)
	if err != nil {
		return err
	}
	err = signDigest(ctx, store, image.Descriptor, key)
	var attached []string
	if err == nil {
		attached, err = signAttachments(ctx, store, image, key, tell)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	what := l.Manifest.Name + " " + l.Manifest.Version
	if len(attached) > 0 {
		what += " with its " + strings.Join(attached, ", ")
	}
	_, err = fmt.Fprintf(stdout, "%s: %s, signed by %s\n", image.Ref.At(image.Descriptor.Digest), what, key.Public().ID())
	return writing(err)
}

// openIndex opens the store of an index; nil if the reference names something else.
func openIndex(ctx context.Context, client *oci.Client, reference string) (*oci.Store, *oci.Index) {
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return nil, nil
	}
	store, err := client.Open(ctx, ref)
	if err != nil {
		return nil, nil
	}
	found, err := store.Index(ctx, ref.Name())
	if err != nil {
		_ = store.Close() // it was only read
		return nil, nil
	}
	return store, found
}

// signIndex signs an index that is there, for policies that want several keys; done is false
// if the reference names something else.
func signIndex(ctx context.Context, client *oci.Client, reference string, key *signing.PrivateKey, stdout io.Writer) (done bool, err error) {
	store, found := openIndex(ctx, client, reference)
	if store == nil {
		return false, nil
	}
	f, err := index.Parse(ctx, found.Data)
	if err := errors.Join(err, store.Close()); err != nil {
		return true, fmt.Errorf("%s: %w", found.Ref, err)
	}
	if store, err = client.Create(ctx, found.Ref); err != nil {
		return true, err
	}
	if err := errors.Join(signDigest(ctx, store, found.Descriptor, key), store.Close()); err != nil {
		return true, err
	}
	_, err = fmt.Fprintf(stdout, "%s: index with serial %d, signed by %s\n", found.Ref.At(found.Descriptor.Digest), f.Serial, key.Public().ID())
	return true, writing(err)
}

// signDigest signs what has a digest in a store, and attaches the signature. If the key has signed it before, there is nothing to add:
// signatures would pile up, up to the number at which nobody reads them any more.
func signDigest(ctx context.Context, store *oci.Store, described ocispec.Descriptor, key *signing.PrivateKey) error {
	before, err := signersOf(ctx, store, described, []*signing.PublicKey{key.Public()})
	if err != nil || len(before) > 0 {
		return err
	}
	bundle, err := signing.SignImage(key, described.Digest.String())
	if err != nil {
		return err
	}
	_, err = store.Attach(ctx, described, oci.Attachment{Type: oci.BundleType, Data: bundle, Annotations: map[string]string{
		"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": signing.PredicateType,
	}})
	return err
}
