package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// publishOptions holds the flags of commands that publish an index.
type publishOptions struct {
	marketOptions
	keys   []string
	policy string
	cache  compileOptions
	valid  time.Duration
	serial int64 // the next index has at least this one
}

func (o *publishOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.keys, "key", nil, "private key `FILE` that signs the index, as berth plugin keygen or cosign made it; "+
		"repeatable, while a key is being changed")
	f.DurationVar(&o.valid, "valid-for", 30*24*time.Hour, "`DURATION` after which the index expires, unless another one is made before")
	f.StringVar(&o.policy, "verification-policy", "", "VerificationPolicy `FILE`: it says who signed the index before, if not the same key, and which plugins are listed")
	f.Int64Var(&o.serial, "serial-at-least", 0, "`SERIAL` that the next index has at least; for a registry that was restored, "+
		"so that its index is older than what users have seen")
	f.StringVar(&o.cache.cache, "module-cache", "", "`DIR` that remembers the serials of indexes, or none; berth/indexes in the user's cache folder if not given")
	o.marketOptions.flags(f)
}

// publication is an index that is being followed by another.
type publication struct {
	ref    oci.Reference
	client *oci.Client
	keys   []*signing.PrivateKey
	reader *index.Reader
	policy *policy.Policy // optional
	before *index.File    // nil if there is none yet
}

// begin reads the index that is there. It may have expired, but it must be signed.
func (o *publishOptions) begin(ctx context.Context, client *oci.Client, reference string, prompt io.Writer) (*publication, error) {
	ref, err := oci.ParseReference(reference)
	if err != nil {
		return nil, err
	}
	if ref.Digest != "" {
		return nil, fmt.Errorf("%s: the next index has another digest: name it by a tag", reference)
	}
	p := &publication{ref: ref, client: client}
	if len(o.keys) == 0 {
		_, err := readPrivateKey(ctx, "", prompt)
		return nil, err
	}
	for _, file := range o.keys {
		key, err := readPrivateKey(ctx, file, prompt)
		if err != nil {
			return nil, err
		}
		p.keys = append(p.keys, key)
	}
	if p.policy, err = readPolicy(ctx, "verification-policy", o.policy); err != nil {
		return nil, err
	}
	seen, err := o.cache.serials()
	if err != nil {
		return nil, err
	}
	p.reader = &index.Reader{Client: client, Judge: p.judge, Expired: true, Seen: seen, Now: time.Now}
	before := *p.reader
	if o.serial != 0 { // an index that is older than what was seen: the next one, which is read back, is not
		before.Seen = ""
	}
	p.before, err = before.Read(ctx, ref)
	if errors.Is(err, oci.ErrNoIndex) || errors.Is(err, fs.ErrNotExist) && ref.Registry == "" {
		return p, nil
	}
	return p, err
}

// judge accepts an index that was signed by the own key, or as the policy wants.
func (p *publication) judge(s *policy.Subject, now time.Time) (*policy.IndexKeys, error) {
	signed := signed{bundles: s.Bundles, lies: s.Lies, verify: func(b *signing.Bundle, key *signing.PublicKey) error { return b.VerifyImage(key, s.Image) }}
	var out policy.IndexKeys
	var err error
	for _, own := range p.public() {
		out.Trusted = append(out.Trusted, own.ID())
		if e := signed.by(own); e == nil {
			out.Signers = append(out.Signers, own.ID())
		} else {
			err = e
		}
	}
	if len(out.Signers) > 0 {
		return &out, nil
	}
	if p.policy != nil {
		return p.policy.JudgeIndex(s, now)
	}
	return nil, fmt.Errorf("it is not signed by --key: %w (if another key signed it, name a --verification-policy that says so)", err)
}

// public returns the public keys of those that sign.
func (p *publication) public() (out []*signing.PublicKey) {
	for _, key := range p.keys {
		out = append(out, key.Public())
	}
	return out
}

// publish signs an index, gives it the tag, and reads it back as users do.
func (p *publication) publish(ctx context.Context, next *index.File, stdout io.Writer) error {
	text, err := next.Text()
	if err != nil {
		return err
	}
	store, err := p.client.Create(ctx, p.ref)
	if err != nil {
		return err
	}
	described, err := p.push(ctx, store, next, text)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	p.reader.Expired = false
	if _, err := p.reader.Read(ctx, p.ref); err != nil {
		return err
	}
	versions := 0
	for i := range next.Plugins {
		versions += len(next.Plugins[i].Versions)
	}
	_, err = fmt.Fprintf(stdout, "%s: serial %d, %s in %s, valid until %s\n%s\n", p.ref, next.Serial, count(versions, "version"), count(len(next.Plugins), "plugin"),
		next.Expires.Format(time.RFC3339), p.ref.At(described.Digest))
	return writing(err)
}

func (p *publication) push(ctx context.Context, store *oci.Store, next *index.File, text []byte) (ocispec.Descriptor, error) {
	described, err := store.PushIndex(ctx, text, map[string]string{"dev.berth.index.serial": strconv.FormatInt(next.Serial, 10)})
	if err != nil {
		return described, err
	}
	for _, key := range p.keys {
		if err := signDigest(ctx, store, described, key); err != nil {
			return described, err
		}
	}
	return described, store.Tag(ctx, described)
}
