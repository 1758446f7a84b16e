package index

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// Reader reads indexes.
type Reader struct {
	Client *oci.Client
	// Judge decides whether an index is trusted, as Policy.JudgeIndex does.
	Judge func(*policy.Subject, time.Time) (*policy.IndexKeys, error)
	// Expired accepts an index that has expired. The publisher of the next one needs it.
	Expired bool
	// Seen is the folder that keeps the highest serial of each index for each key; empty for none.
	Seen string
	Now  func() time.Time
	// Tell (optional) is told of keys that will sign the index later, and that Judge does not trust yet.
	Tell func(string)
}

// Read fetches an index. It refuses one that is not trusted, has expired, or is older than one
// that it has read before.
func (r *Reader) Read(ctx context.Context, ref oci.Reference) (*File, error) {
	f, err := r.read(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("the index %s: %w", ref, err)
	}
	return f, nil
}

func (r *Reader) read(ctx context.Context, ref oci.Reference) (*File, error) {
	store, err := r.Client.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it was only read
	found, err := store.Index(ctx, ref.Name())
	if err != nil {
		return nil, err
	}
	attached, lies, err := store.Attachments(ctx, found.Descriptor, oci.BundleType)
	if err != nil {
		return nil, err
	}
	digest := found.Descriptor.Digest.String()
	subject := &policy.Subject{Repository: ref.Place(), Image: digest, Lies: lies}
	for _, a := range attached {
		subject.Bundles = append(subject.Bundles, a.Data)
	}
	keys, err := r.Judge(subject, r.Now())
	if err != nil {
		return nil, err
	}
	f, err := Parse(ctx, found.Data) // only after its signatures were accepted
	if err != nil {
		return nil, err
	}
	if !r.Expired {
		if err := f.CheckExpiry(r.Now()); err != nil {
			return nil, err
		}
	}
	for _, text := range f.Announced {
		key, err := signing.ParsePublicKey([]byte(text))
		if err == nil && r.Tell != nil && !slices.Contains(keys.Trusted, key.ID()) {
			r.Tell(fmt.Sprintf("the index %s will be signed by another key, %s: add it to keys and indexes of the policy:\n%s", ref, key.ID(), text))
		}
	}
	if r.Seen == "" {
		return f, nil
	}
	return f, (&seen{dir: r.Seen}).accept(placeOf(ref), keys, f.Serial, digest)
}

// CheckExpiry refuses an index that has expired.
func (f *File) CheckExpiry(now time.Time) error {
	if now.After(f.Expires) {
		return fmt.Errorf("it expired on %s: ask who publishes it to run berth plugin index again", f.Expires.Format(time.RFC3339))
	}
	return nil
}

// placeOf returns a name of an index that does not depend on the working directory.
func placeOf(ref oci.Reference) string {
	for _, path := range []*string{&ref.Dir, &ref.Archive} {
		if *path != "" {
			if absolute, err := filepath.Abs(*path); err == nil {
				*path = absolute
			}
		}
	}
	return ref.String()
}
