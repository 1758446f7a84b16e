package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"cuelabs.dev/go/oci/ociregistry"
	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
)

func (f *folders) PushBlob(ctx context.Context, repo string, described ociregistry.Descriptor, r io.Reader) (ociregistry.Descriptor, error) {
	store, err := f.repository(repo, true)
	if err != nil {
		return ociregistry.Descriptor{}, err
	}
	described.MediaType = "application/octet-stream"
	err = push(ctx, store, described, r)
	if errors.Is(err, content.ErrMismatchedDigest) || errors.Is(err, content.ErrTrailingData) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ociregistry.ErrDigestInvalid
	}
	return described, err
}

// push stores a blob unless the store has it.
func push(ctx context.Context, store *oci.Store, described ociregistry.Descriptor, r io.Reader) error {
	err := store.Push(ctx, described, r)
	if errors.Is(err, errdef.ErrAlreadyExists) {
		return nil
	}
	return err
}

func (f *folders) PushBlobChunked(ctx context.Context, repo string, chunkSize int) (ociregistry.BlobWriter, error) {
	return f.PushBlobChunkedResume(ctx, repo, "", 0, chunkSize)
}

// PushBlobChunkedResume continues an upload, or begins one. If there are too many uploads, or too much in them, the oldest
// are dropped, which their clients may have abandoned.
func (f *folders) PushBlobChunkedResume(_ context.Context, repo, id string, _ int64, _ int) (ociregistry.BlobWriter, error) {
	store, err := f.repository(repo, true)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.uploads[id]; b != nil {
		return limited{b, f}, nil
	}
	if id != "" {
		return nil, ociregistry.ErrBlobUploadUnknown
	}
	b := ocimem.NewBuffer(func(b *ocimem.Buffer) error {
		f.finish(b.ID())
		described, data, err := b.GetBlob()
		if err != nil {
			return err
		}
		return push(context.Background(), store, described, bytes.NewReader(data))
	}, "")
	f.uploads[b.ID()] = b
	f.order = append(f.order, b.ID())
	if len(f.order) > maxUploads {
		f.drop(f.order[0])
	}
	return limited{b, f}, nil
}

// finish forgets an upload.
func (f *folders) finish(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(id)
}

// drop is finish for callers that hold f.mu.
func (f *folders) drop(id string) {
	delete(f.uploads, id)
	f.order = slices.DeleteFunc(f.order, func(other string) bool { return other == id })
}

// room drops the oldest uploads until there is room for more bytes of one; false if that was dropped itself.
func (f *folders) room(id string, more int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := int64(more)
	for _, b := range f.uploads {
		all += b.Size()
	}
	for all > maxUnfinished && len(f.order) > 1 {
		oldest := f.order[0]
		if oldest == id {
			oldest = f.order[1]
		}
		all -= f.uploads[oldest].Size()
		f.drop(oldest)
	}
	return f.uploads[id] != nil
}

// limited is an upload with at most maxBody bytes in all its chunks.
type limited struct {
	*ocimem.Buffer
	of *folders
}

func (l limited) Write(p []byte) (int, error) {
	if l.Size()+int64(len(p)) > maxBody {
		return 0, ociregistry.ErrSizeInvalid
	}
	if !l.of.room(l.ID(), len(p)) {
		return 0, ociregistry.ErrBlobUploadUnknown
	}
	return l.Buffer.Write(p)
}

// Cancel implements ociregistry.BlobWriter.
func (l limited) Cancel() error {
	l.of.finish(l.ID())
	return l.Buffer.Cancel()
}

func (f *folders) MountBlob(ctx context.Context, from, to string, digest ociregistry.Digest) (ociregistry.Descriptor, error) {
	b, err := f.GetBlob(ctx, from, digest)
	if err != nil {
		return ociregistry.Descriptor{}, err
	}
	defer b.Close() //nolint:errcheck // it was only read
	return f.PushBlob(ctx, to, b.Descriptor(), b)
}

func (f *folders) PushManifest(ctx context.Context, repo, tag string, text []byte, mediaType string) (ociregistry.Descriptor, error) {
	store, err := f.repository(repo, true)
	if err != nil {
		return ociregistry.Descriptor{}, err
	}
	if !isManifest(mediaType) {
		return ociregistry.Descriptor{}, ociregistry.ErrManifestInvalid
	}
	if _, err := manifestOf(ctx, bytes.NewReader(text)); ctx.Err() != nil {
		return ociregistry.Descriptor{}, context.Cause(ctx)
	} else if err != nil { // it could not be listed as a referrer
		return ociregistry.Descriptor{}, fmt.Errorf("%w: %w", ociregistry.ErrManifestInvalid, err)
	}
	described := content.NewDescriptorFromBytes(mediaType, text)
	if err := push(ctx, store, described, bytes.NewReader(text)); err != nil {
		return ociregistry.Descriptor{}, err
	}
	if tag == "" {
		tag = described.Digest.String()
	}
	return described, store.Tag(ctx, described, tag)
}

func (f *folders) DeleteTag(ctx context.Context, repo, tag string) error {
	store, err := f.repository(repo, false)
	if err != nil {
		return err
	}
	if err := store.Untag(ctx, tag); errors.Is(err, errdef.ErrNotFound) {
		return ociregistry.ErrManifestUnknown
	} else if err != nil {
		return err
	}
	return nil
}

func (f *folders) DeleteManifest(ctx context.Context, repo string, digest ociregistry.Digest) error {
	described, err := f.ResolveManifest(ctx, repo, digest)
	if err != nil {
		return err
	}
	store, err := f.repository(repo, false)
	if err != nil {
		return err
	}
	return store.Delete(ctx, described)
}
