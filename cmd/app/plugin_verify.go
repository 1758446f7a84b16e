package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

func newPluginVerify() *cobra.Command {
	var o marketOptions
	var keys []string
	var policyFile string
	cmd := &cobra.Command{
		Use:   "verify REFERENCE|FILE --key FILE",
		Short: "Tell whether an image, an index or a file is signed by a key",
		Long: `Verify checks the signatures of an image or an index, or that of a file in FILE` + signing.Suffix + `,
with keys. Only images and indexes in a registry need a network. Verify accepts what berth
and cosign sign with keys, and ignores what a signature says about its signer. It refuses an
image whose annotations differ from the manifest in its module, and an index that has expired.

With several keys, each of them must have signed. With --policy, verify judges a module as
berth run --verification-policy does, and an index as the policy's indexes say. The exit
status is 2 if it does not pass.`,
		Example: `  berth plugin verify ghcr.io/team/rack-aware:1.2.0 --key team.pub
  berth plugin verify rack-aware.wasm --key team.pub --key security.pub
  berth plugin verify ghcr.io/team/index --policy policy.yaml`,
		Args:    oneArgument("reference or file", "REFERENCE|FILE --key FILE"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(keys) == 0 && policyFile == "" {
				return errors.New("--key is missing: name the public key of who you trust, or a policy with --policy")
			}
			rules, err := readPolicy(cmd.Context(), "policy", policyFile)
			if err != nil {
				return err
			}
			public, err := readPublicKeys(cmd.Context(), "key", keys)
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
					signers, err := s.judge(rules)
					if err != nil {
						return fmt.Errorf("%s: %w", args[0], err)
					}
					by = append(by, signers...)
				}
				if s.after != nil {
					if err := s.after(); err != nil {
						return err
					}
				}
				how := "admitted by " + policyFile + " without a signature"
				if len(by) > 0 {
					how = "signed by " + strings.Join(by, ", ")
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s\n", s.what, s.title, how)
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

// signed is what has signatures: an image, an index or a file.
type signed struct {
	what    string // the file, or the image or index by its digest
	title   string // in words
	bundles [][]byte
	lies    []error
	verify  func(*signing.Bundle, *signing.PublicKey) error

	image  *oci.Image     // nil for a file or an index
	module *module.Loaded // nil for an index, and for a file that is no module
	index  *oci.Index     // nil for anything else
	after  func() error   // what is checked when somebody vouched for it; may be nil
}

// signatures reads what is named, and its bundles.
func signatures(ctx context.Context, client *oci.Client, plugin string) (*signed, error) {
	if isFile(plugin) {
		return fileSignatures(ctx, plugin)
	}
	if err := isReference(plugin); err != nil {
		return nil, err
	}
	if store, found := openIndex(ctx, client, plugin); store != nil {
		defer store.Close() //nolint:errcheck // it was only read
		return indexSignatures(ctx, store, found)
	}
	return imageSignatures(ctx, client, plugin)
}

func fileSignatures(ctx context.Context, file string) (*signed, error) {
	data, title, l, err := fileToSign(ctx, file)
	if err != nil {
		return nil, err
	}
	s := &signed{what: file, title: title, module: l, verify: func(b *signing.Bundle, key *signing.PublicKey) error {
		return b.VerifyFile(key, data)
	}}
	switch bundle, err := bounded.Regular(file+signing.Suffix, signing.MaxBundle); {
	case err == nil:
		s.bundles = [][]byte{bundle}
	case errors.Is(err, fs.ErrNotExist):
		s.lies = []error{fmt.Errorf("there is no %s", file+signing.Suffix)}
	default:
		return nil, err
	}
	return s, nil
}

func imageSignatures(ctx context.Context, client *oci.Client, reference string) (*signed, error) {
	image, l, err := pullImage(ctx, client, reference)
	if err != nil {
		return nil, err
	}
	store, err := client.Open(ctx, image.Ref)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it was only read
	s := &signed{what: image.Ref.At(image.Descriptor.Digest).String(), title: titleOf(l), image: image, module: l}
	return s, s.attached(ctx, store, image.Descriptor)
}

func indexSignatures(ctx context.Context, store *oci.Store, found *oci.Index) (*signed, error) {
	s := &signed{what: found.Ref.At(found.Descriptor.Digest).String(), title: "index of plugins", index: found}
	s.after = func() error {
		f, err := index.Parse(ctx, found.Data)
		if err == nil {
			err = f.CheckExpiry(time.Now())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		s.title = fmt.Sprintf("index with serial %d, valid until %s", f.Serial, f.Expires.Format(time.RFC3339))
		return nil
	}
	return s, s.attached(ctx, store, found.Descriptor)
}

// attached reads the bundles that refer to an artifact.
func (s *signed) attached(ctx context.Context, store *oci.Store, described ocispec.Descriptor) error {
	found, lies, err := store.Attachments(ctx, described, oci.BundleType)
	for _, a := range found {
		s.bundles = append(s.bundles, a.Data)
	}
	s.lies = lies
	s.verify = func(b *signing.Bundle, key *signing.PublicKey) error {
		return b.VerifyImage(key, described.Digest.String())
	}
	return err
}

// judge asks a policy.
func (s *signed) judge(rules *policy.Policy) (signers []string, err error) {
	subject := &policy.Subject{Bundles: s.bundles, Lies: s.lies}
	if s.index != nil {
		subject.Repository, subject.Image = s.index.Ref.Place(), s.index.Descriptor.Digest.String()
		keys, err := rules.JudgeIndex(subject, time.Now())
		if err != nil {
			return nil, err
		}
		return keys.Names, nil
	}
	if s.module == nil {
		return nil, errors.New("a policy judges plugins and indexes: verify another file with --key")
	}
	m := s.module.Manifest
	subject.Name, subject.Version, subject.Publisher, subject.Module, subject.Data = m.Name, m.Version, m.Publisher, s.module.Digest, s.module.Bytes
	if s.image != nil {
		subject.Repository, subject.Image = s.image.Ref.Place(), s.image.Descriptor.Digest.String()
	}
	return rules.Judge(subject, time.Now())
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
