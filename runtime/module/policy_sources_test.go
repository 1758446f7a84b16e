package module_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/registry"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

func generate(t *testing.T) *signing.PrivateKey {
	t.Helper()
	key, err := signing.Generate(signing.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// requires returns a policy that requires the key; more is the rest of its text.
func requires(t *testing.T, key *signing.PrivateKey, more string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(fmt.Appendf(nil, "apiVersion: berth.dev/v1alpha1\nkind: VerificationPolicy\nkeys:\n- name: team\n  publicKey: |\n    %s\nrequire: {signatures: {keys: [team]}}\n%s",
		strings.ReplaceAll(strings.TrimSpace(string(key.Public().PEM())), "\n", "\n    "), more))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPolicyOfImages: under a policy a signed image runs, fetched or from the folder of stored
// modules. It no longer runs once its key is revoked.
func TestPolicyOfImages(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	data := guestModule(t)
	l, err := module.Parse("guest.wasm", data)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/guest:v1")
	if err != nil {
		t.Fatal(err)
	}
	store, err := oci.New(oci.Config{}).Create(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	image, err := store.Push(t.Context(), data, l.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key *signing.PrivateKey) {
		t.Helper()
		text, err := signing.SignImage(key, image.Descriptor.Digest.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Attach(t.Context(), image.Descriptor, oci.Attachment{Type: oci.BundleType, Data: text}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	pinned := "oci://" + ref.At(image.Descriptor.Digest).String()
	try := func(p *policy.Policy, text string) error {
		_, err := load(module.NewSources(module.SourcesConfig{Dir: dir, Policy: p}), text)
		return err
	}
	key, other := generate(t), generate(t)
	wants := requires(t, key, "")
	if err := try(nil, pinned); err != nil { // stored without signatures
		t.Fatal(err)
	}
	expectError(t, try(wants, pinned), "signature: "+image.Descriptor.Digest.String()+": the verification policy refuses it: require.signatures: it has no signature", "have it signed by a key")
	sign(other)
	expectError(t, try(wants, pinned), "it is signed by 0 of the keys team, 1 are needed")
	sign(key)
	for _, text := range []string{pinned, "oci://" + ref.String()} {
		loaded, err := load(module.NewSources(module.SourcesConfig{Dir: dir, Policy: wants}), text)
		if err != nil || len(loaded.Signers) != 1 || loaded.Signers[0] != "team" {
			t.Fatalf("%v, signed by %v", err, loaded)
		}
	}
	expectError(t, try(requires(t, key, "revoked: {keys: [team]}"), pinned), "the key team signed it, but is revoked")

	// Another image under the tag does not have these signatures.
	l.Manifest.Description = "another"
	moved, err := store.Push(t.Context(), data, l.Manifest)
	if err != nil || moved.Descriptor.Digest == image.Descriptor.Digest {
		t.Fatalf("%v, %v", moved, err)
	}
	expectError(t, try(wants, "oci://"+ref.String()), "its annotation org.opencontainers.image.description is \"another\", the manifest in the module says \"d\"")

	server.Close()
	if err := try(wants, pinned); err != nil {
		t.Errorf("without the registry: %v", err)
	}
	expectError(t, try(requires(t, other, "revoked: {digests: [\""+module.Digest(data)+"\"]}"), pinned), "revoked.digests[0]: this digest is revoked")
	// Stored data is trusted only as far as digests and keys prove it.
	kept := filepath.Join(dir, strings.Replace(image.Descriptor.Digest.String(), ":", "-", 1)+".origin")
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte(strings.Replace(string(text), "/team/guest", "/evil/guest", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	expectError(t, try(wants, pinned), "connect")
}

// TestPolicyOfFiles: a file is signed by the bundle beside it, on disk or on a server.
func TestPolicyOfFiles(t *testing.T) {
	key, data := generate(t), guestModule(t)
	bundle, err := signing.SignFile(key, data)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	sources := module.NewSources(module.SourcesConfig{Policy: requires(t, key, "")})
	_, err = load(sources, path)
	expectError(t, err, path+": signature: "+module.Digest(data)+": the verification policy refuses it: require.signatures: it has no signature")
	if err := os.WriteFile(path+".sigstore.json", bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = load(sources, path); err != nil {
		t.Error(err)
	}
	late := requires(t, key, "")
	if _, err := load(module.NewSources(module.SourcesConfig{Policy: late, Now: func() time.Time { return time.Unix(1<<40, 0) }}), path); err != nil {
		t.Errorf("an endless signature was read to its end: %v", err)
	}

	signed := false
	s := serve(t, map[string]http.HandlerFunc{
		"/guest.wasm": content("application/wasm", data),
		"/guest.wasm.sigstore.json": func(w http.ResponseWriter, r *http.Request) {
			if !signed {
				http.NotFound(w, r)
				return
			}
			content("application/json", bundle)(w, r)
		},
	})
	sources = module.NewSources(module.SourcesConfig{Policy: requires(t, key, ""), Dir: t.TempDir()})
	at := s.URL + "/guest.wasm?digest=" + module.Digest(data)
	_, err = load(sources, at)
	expectError(t, err, "it has no signature")
	signed = true
	for range 2 {
		if _, err = load(sources, at); err != nil {
			t.Error(err)
		}
	}
	if s.requests != 4 {
		t.Errorf("%d requests, want two for the module, and two for the signature, which was missing first", s.requests)
	}
}

// TestPolicyOfInstalledFiles: a file with the origin of its image beside it is judged as
// the image, but for its repository, which a file cannot prove.
func TestPolicyOfInstalledFiles(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	data, key := guestModule(t), generate(t)
	l, err := module.Parse("guest.wasm", data)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/guest:v1")
	if err != nil {
		t.Fatal(err)
	}
	store, err := oci.New(oci.Config{}).Create(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	image, err := store.Push(t.Context(), data, l.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := signing.SignImage(key, image.Descriptor.Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Attach(t.Context(), image.Descriptor, oci.Attachment{Type: oci.BundleType, Data: bundle}); err != nil {
		t.Fatal(err)
	}
	wants := requires(t, key, "")
	sources := module.NewSources(module.SourcesConfig{Policy: wants})
	fetched, err := load(sources, "oci://"+ref.String())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "guest.wasm")
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, data)
	_, err = load(sources, path)
	expectError(t, err, "it has no signature")
	beside := module.OriginFile(path, module.Digest(data))
	write(beside, fetched.Origin)
	installed, err := load(sources, path)
	if err != nil || installed.Image != image.Descriptor.Digest.String() || len(installed.Signers) != 1 {
		t.Fatalf("%+v, %v", installed, err)
	}
	_, err = load(module.NewSources(module.SourcesConfig{Policy: requires(t, key, "revoked: {digests: [\""+installed.Image+"\"]}")}), path)
	expectError(t, err, "revoked.digests[0]: this digest is revoked")
	// The signature is not of another module, and not of another image.
	other, err := wire.AppendCustomSection(data, "other", []byte("module"))
	if err != nil {
		t.Fatal(err)
	}
	write(path, other)
	_, err = load(sources, path)
	expectError(t, err, "it has no signature")
	write(module.OriginFile(path, module.Digest(other)), fetched.Origin)
	_, err = load(sources, path)
	expectError(t, err, "it has no signature")
	write(path, data)
	write(beside, bytes.Replace(fetched.Origin, []byte(`"manifest":"`), []byte(`"manifest":"IC`), 1))
	_, err = load(sources, path)
	expectError(t, err, "it has no signature")
}
