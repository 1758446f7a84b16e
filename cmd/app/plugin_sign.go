package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

// isFile tells a module's file from an image's reference.
func isFile(plugin string) bool {
	return strings.HasSuffix(plugin, ".wasm") && !strings.Contains(plugin, "://")
}

func newPluginSign() *cobra.Command {
	var o marketOptions
	var key string
	cmd := &cobra.Command{
		Use:   "sign REFERENCE|FILE.wasm --key FILE",
		Short: "Sign an image in a registry, or a module's file",
		Long: `Sign signs an image and attaches the signature to it, or signs a file and writes the
signature beside it, into FILE` + signing.Suffix + `. Both are Sigstore bundles as cosign writes
them, made without a network: cosign verify --key and verify-blob --key accept them.

Of an image its manifest's digest is signed, after its module was looked at: an image
whose annotations differ from the module's manifest is not signed. An index is signed as
well, for policies that want several keys.`,
		Example: `  berth plugin sign ghcr.io/team/rack-aware:1.2.0 --key team.key
  berth plugin sign rack-aware.wasm --key team.key`,
		Args:    oneArgument("reference or file", "REFERENCE|FILE.wasm --key FILE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			private, err := readPrivateKey(key, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if isFile(args[0]) {
				return signFile(args[0], private, cmd.OutOrStdout())
			}
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				return signImage(ctx, client, args[0], private, cmd.OutOrStdout())
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&key, "key", "", "private key `FILE`, as berth plugin keygen or cosign made it")
	o.flags(f)
	return cmd
}

func signFile(file string, key *signing.PrivateKey, stdout io.Writer) error {
	l, err := module.Read(file)
	if err != nil {
		return err
	}
	bundle, err := signing.SignFile(key, l.Bytes)
	if err != nil {
		return err
	}
	if err := replaceFile(file+signing.Suffix, bundle); err != nil {
		return &failure{err}
	}
	_, err = fmt.Fprintf(stdout, "%s: %s %s, signed by %s\n", file+signing.Suffix, l.Manifest.Name, l.Manifest.Version, key.Public().ID())
	return writing(err)
}

func signImage(ctx context.Context, client *oci.Client, reference string, key *signing.PrivateKey, stdout io.Writer) error {
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
	if err := errors.Join(signDigest(ctx, store, image.Descriptor, key), store.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %s %s, signed by %s\n", image.Ref.At(image.Descriptor.Digest), l.Manifest.Name, l.Manifest.Version, key.Public().ID())
	return writing(err)
}

// signIndex signs an index that is there, for policies that want several keys; done is false
// if the reference names something else.
func signIndex(ctx context.Context, client *oci.Client, reference string, key *signing.PrivateKey, stdout io.Writer) (done bool, err error) {
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return false, nil
	}
	store, err := client.Open(ctx, ref)
	if err != nil {
		return false, nil
	}
	found, err := store.Index(ctx, ref.Name())
	if closing := store.Close(); err != nil || closing != nil {
		return false, nil
	}
	f, err := index.Parse(found.Data)
	if err != nil {
		return true, fmt.Errorf("%s: %w", found.Ref, err)
	}
	if store, err = client.Create(ctx, ref); err != nil {
		return true, err
	}
	if err := errors.Join(signDigest(ctx, store, found.Descriptor, key), store.Close()); err != nil {
		return true, err
	}
	_, err = fmt.Fprintf(stdout, "%s: index with serial %d, signed by %s\n", ref.At(found.Descriptor.Digest), f.Serial, key.Public().ID())
	return true, writing(err)
}

// signDigest signs what has a digest in a store, and attaches the signature.
func signDigest(ctx context.Context, store *oci.Store, described ocispec.Descriptor, key *signing.PrivateKey) error {
	bundle, err := signing.SignImage(key, described.Digest.String())
	if err != nil {
		return err
	}
	_, err = store.Attach(ctx, described, oci.Attachment{Type: oci.BundleType, Data: bundle, Annotations: map[string]string{
		"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": signing.PredicateType,
	}})
	return err
}

func newPluginVerify() *cobra.Command {
	var o marketOptions
	var keys []string
	var policyFile string
	cmd := &cobra.Command{
		Use:   "verify REFERENCE|FILE.wasm --key FILE",
		Short: "Tell whether an image or a module's file is signed by a key",
		Long: `Verify holds the signatures of an image, or that of a file in FILE` + signing.Suffix + `,
against keys, without a network but for the registry. It accepts what berth and cosign
sign with keys. Who a signature says it is from is ignored; an image whose annotations
differ from the manifest in its module is refused.

With several keys each of them must have signed. With --policy the module is judged as
berth run --verification-policy judges it. The exit status is 2 if it does not pass.`,
		Example: `  berth plugin verify ghcr.io/team/rack-aware:1.2.0 --key team.pub
  berth plugin verify rack-aware.wasm --key team.pub --key security.pub
  berth plugin verify ghcr.io/team/rack-aware:1.2.0 --policy policy.yaml`,
		Args:    oneArgument("reference or file", "REFERENCE|FILE.wasm --key FILE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(keys) == 0 && policyFile == "" {
				return errors.New("--key is missing: name the public key of who you trust, or a policy with --policy")
			}
			rules, err := readPolicy("policy", policyFile)
			if err != nil {
				return err
			}
			public, err := readPublicKeys(keys)
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), func(ctx context.Context, client *oci.Client) error {
				s, err := signatures(ctx, client, args[0])
				if err != nil {
					return err
				}
				for i, key := range public {
					if err := s.by(key); err != nil {
						return fmt.Errorf("%s is not signed by %s (%s): %w", s.what, keys[i], key.ID(), err)
					}
				}
				by := keys
				if rules != nil {
					signers, err := rules.Judge(s.subject(), time.Now())
					if err != nil {
						return fmt.Errorf("%s: %w", args[0], err)
					}
					by = append(by, signers...)
				}
				how := "admitted by " + policyFile + " without a signature"
				if len(by) > 0 {
					how = "signed by " + strings.Join(by, ", ")
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s, %s\n", s.what, s.module.Manifest.Name, s.module.Manifest.Version, how)
				return writing(err)
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&policyFile, "policy", "", "judge by the VerificationPolicy in this `FILE`")
	f.StringArrayVar(&keys, "key", nil, "public key `FILE`; repeatable")
	o.flags(f)
	return cmd
}

// signed is a module, and the bundles that are said to sign it.
type signed struct {
	what    string     // the file, or the image by its digest
	image   *oci.Image // nil for a file
	module  *module.Loaded
	bundles [][]byte
	verify  func(*signing.Bundle, *signing.PublicKey) error
	lies    []error
}

// signatures reads a module and its bundles.
func signatures(ctx context.Context, client *oci.Client, plugin string) (*signed, error) {
	if isFile(plugin) {
		l, err := module.Read(plugin)
		if err != nil {
			return nil, err
		}
		s := &signed{what: plugin, module: l, verify: func(b *signing.Bundle, key *signing.PublicKey) error {
			return b.VerifyFile(key, l.Bytes)
		}}
		switch bundle, err := readSmall(plugin+signing.Suffix, signing.MaxBundle); {
		case err == nil:
			s.bundles = [][]byte{bundle}
		case errors.Is(err, fs.ErrNotExist):
			s.lies = []error{fmt.Errorf("there is no %s", plugin+signing.Suffix)}
		default:
			return nil, err
		}
		return s, nil
	}
	image, l, err := pullImage(ctx, client, plugin)
	if err != nil {
		return nil, err
	}
	store, err := client.Open(ctx, image.Ref)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it was only read
	found, lies, err := store.Attachments(ctx, image.Descriptor, oci.BundleType)
	if err != nil {
		return nil, err
	}
	digest := image.Descriptor.Digest
	s := &signed{what: image.Ref.At(digest).String(), image: image, module: l, lies: lies, verify: func(b *signing.Bundle, key *signing.PublicKey) error {
		return b.VerifyImage(key, digest.String())
	}}
	for _, a := range found {
		s.bundles = append(s.bundles, a.Data)
	}
	return s, nil
}

// subject is what a policy judges.
func (s *signed) subject() *policy.Subject {
	m := s.module.Manifest
	out := &policy.Subject{Name: m.Name, Version: m.Version, Publisher: m.Publisher, Module: s.module.Digest, Data: s.module.Bytes, Bundles: s.bundles, Lies: s.lies}
	if s.image != nil {
		out.Repository, out.Image = s.image.Ref.Place(), s.image.Descriptor.Digest.String()
	}
	return out
}

// by reports whether a key signed the module: one of the bundles verifies. If none
// does, the error says of each why not.
func (s *signed) by(key *signing.PublicKey) error {
	var why []string
	for _, text := range s.bundles {
		bundle, err := signing.ParseBundle(text)
		if err == nil {
			err = s.verify(bundle, key)
		}
		if err == nil {
			return nil
		}
		why = append(why, err.Error())
	}
	for _, lie := range s.lies {
		why = append(why, lie.Error())
	}
	if len(why) == 0 {
		return errors.New("it has no signature")
	}
	return errors.New(plain.List(why, "; ", maxErrors/16, "reasons"))
}
