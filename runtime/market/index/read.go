package index

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
)

// Reader reads indexes.
type Reader struct {
	Client *oci.Client
	// Judge says whether an index is believed, as Policy.JudgeIndex does.
	Judge func(*policy.Subject, time.Time) (signers []string, err error)
	// Expired accepts an index that has expired: for who makes the next one.
	Expired bool
	// Seen is the folder that remembers serials; empty for none.
	Seen string
	Now  func() time.Time
}

// Read gets an index, and refuses one that is not believed, has expired, or is older than
// one that was seen.
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
	if _, err := r.Judge(subject, r.Now()); err != nil {
		return nil, err
	}
	f, err := Parse(found.Data) // not before somebody vouched for it
	if err != nil {
		return nil, err
	}
	if !r.Expired && r.Now().After(f.Expires) {
		return nil, fmt.Errorf("it expired on %s: ask who publishes it to run berth plugin index again", f.Expires.Format(time.RFC3339))
	}
	if r.Seen == "" {
		return f, nil
	}
	return f, (&seen{dir: r.Seen}).accept(placeOf(ref), f.Serial, digest)
}

// placeOf names an index the same wherever the process was started.
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
