package index_test

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/registry"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// catalogue is a registry with an index, and a user who reads it.
type catalogue struct {
	t      *testing.T
	ref    oci.Reference
	keys   map[string]*signing.PrivateKey
	reader *index.Reader
	// answer (optional) replaces what the registry answers to a path.
	answer func(path string, honest []byte) []byte
}

func newCatalogue(t *testing.T) *catalogue {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	c := &catalogue{t: t, keys: map[string]*signing.PrivateKey{}}
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.answer == nil {
			handler.ServeHTTP(w, r)
			return
		}
		honest := httptest.NewRecorder()
		handler.ServeHTTP(honest, r)
		data := c.answer(r.URL.Path, honest.Body.Bytes())
		for key, values := range honest.Header() {
			w.Header()[key] = values
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.WriteHeader(honest.Code)
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	if c.ref, err = oci.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/index"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"catalogue", "successor", "stranger"} {
		if c.keys[name], err = signing.Generate(signing.Ed25519); err != nil {
			t.Fatal(err)
		}
	}
	c.reader = &index.Reader{Client: oci.New(oci.Config{}), Seen: filepath.Join(t.TempDir(), "seen"), Now: now}
	c.believe("catalogue")
	return c
}

// believe has the user trust indexes that one of some keys signed.
func (c *catalogue) believe(names ...string) {
	c.t.Helper()
	rules := "apiVersion: berth.dev/v1alpha1\nkind: VerificationPolicy\nkeys:\n"
	for name, key := range c.keys {
		pem := strings.TrimSpace(string(key.Public().PEM()))
		rules += "- name: " + name + "\n  publicKey: |\n    " + strings.ReplaceAll(pem, "\n", "\n    ") + "\n"
	}
	rules += "indexes: [{signatures: {keys: [" + strings.Join(names, ", ") + "]}}]\nrequire: {signatures: {keys: [stranger]}}\n"
	believed, err := policy.Parse([]byte(rules))
	if err != nil {
		c.t.Fatal(err)
	}
	c.reader.Judge = believed.JudgeIndex
}

// publish stores an index that a key signed; without a name nobody did.
func (c *catalogue) publish(key string, data []byte) ocispec.Descriptor {
	c.t.Helper()
	store, err := oci.New(oci.Config{}).Create(c.t.Context(), c.ref)
	if err != nil {
		c.t.Fatal(err)
	}
	described, err := store.PushIndex(c.t.Context(), data, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		c.attach(store, described, key, described.Digest.String())
	}
	if err := store.Tag(c.t.Context(), described); err != nil {
		c.t.Fatal(err)
	}
	return described
}

// attach attaches a signature of a digest to an index.
func (c *catalogue) attach(store *oci.Store, to ocispec.Descriptor, key, signs string) {
	c.t.Helper()
	bundle, err := signing.SignImage(c.keys[key], signs)
	if err == nil {
		_, err = store.Attach(c.t.Context(), to, oci.Attachment{Type: oci.BundleType, Data: bundle})
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// refuses wants an error with the text, and no index.
func (c *catalogue) refuses(want string) {
	c.t.Helper()
	f, err := c.reader.Read(c.t.Context(), c.ref)
	if err == nil || f != nil || !strings.Contains(err.Error(), want) {
		c.t.Errorf("%v, want %q", err, want)
	}
	if err != nil && (strings.ContainsAny(err.Error(), "\x1b\u202e") || len(err.Error()) > 4<<10) {
		c.t.Errorf("the error has %d bytes, as they came: %q", len(err.Error()), err)
	}
}

// reads wants the index with a serial.
func (c *catalogue) reads(serial int64) {
	c.t.Helper()
	f, err := c.reader.Read(c.t.Context(), c.ref)
	if err != nil || f.Serial != serial {
		c.t.Errorf("%+v, %v, want the serial %d", f, err, serial)
	}
}

func (c *catalogue) next(before *index.File, found ...index.Plugin) *index.File {
	c.t.Helper()
	f, _, err := index.Next(before, found, now(), time.Hour)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// TestReplay: an index that was followed by another is refused, in all runs that share a
// folder, until someone makes one with a higher serial.
func TestReplay(t *testing.T) {
	c := newCatalogue(t)
	one := c.next(nil, rackAware(version("1.2.0", "1")))
	two := c.next(one, rackAware(version("1.3.0", "2")))
	c.publish("catalogue", text(t, one))
	c.reads(1)
	c.reads(1)
	c.publish("catalogue", text(t, two))
	c.reads(2)
	old := c.publish("catalogue", text(t, one))
	c.refuses("its serial is 1, and 2 was seen before: this is an old index")
	again := *c.reader
	c.reader = &again
	c.refuses("its serial is 1, and 2 was seen before")
	fork := c.next(one, rackAware(version("1.4.0", "3")))
	c.publish("catalogue", text(t, fork))
	c.refuses("its serial is 2, and another index with this serial was seen before, \"sha256:")
	c.publish("catalogue", text(t, c.next(two)))
	c.reads(3)
	// Who asks for one by its digest gets it, and has said which.
	c.ref = c.ref.At(old.Digest)
	c.reads(1)
	// A folder of its own knows nothing of this.
	c.ref.Digest = ""
	c.publish("catalogue", text(t, one))
	c.reader.Seen = t.TempDir()
	c.reads(1)
	// What cannot be remembered cannot be believed.
	c.reader.Seen = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(c.reader.Seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.refuses("the serials that were seen: ")
}

// TestSerials: one index with a huge serial does not block those that follow. A jump is refused, whether a serial was seen before or
// not; and what a key signed that is not trusted any more does not count, but still does while the key is trusted.
func TestSerials(t *testing.T) {
	c := newCatalogue(t)
	with := func(serial int64, plugins ...index.Plugin) []byte {
		f := c.next(nil, plugins...)
		f.Serial = serial
		return text(t, f)
	}
	for range 2 { // without a serial that was seen, and with one
		c.publish("catalogue", with(math.MaxInt64))
		c.refuses("its serial is 9223372036854775807, ")
		c.publish("catalogue", with(7))
		c.reads(7)
	}
	c.publish("catalogue", with(10_000_007))
	c.reads(10_000_007)
	c.publish("catalogue", with(20_000_008))
	c.refuses("its serial is 20000008, 10000001 more than the last one that was seen")
	// The key was stolen, and another replaces it. A policy that still trusts both refuses old indexes.
	c.believe("catalogue", "successor")
	c.publish("successor", with(8))
	c.refuses("its serial is 8, and 10000007 was seen before: this is an old index")
	c.believe("successor")
	c.reads(8)
	c.publish("successor", with(9))
	c.reads(9)
	c.publish("successor", with(8, rackAware(version("1.2.0", "1"))))
	c.refuses("its serial is 8, and 9 was seen before")
}

// TestExpired: an index is believed until it expires.
func TestExpired(t *testing.T) {
	c := newCatalogue(t)
	c.publish("catalogue", text(t, c.next(nil)))
	c.reader.Now = func() time.Time { return now().Add(time.Hour - time.Second) }
	c.reads(1)
	c.reader.Now = func() time.Time { return now().Add(time.Hour + time.Second) }
	c.refuses("it expired on 2026-11-22T13:00:00Z: ask who publishes it to run berth plugin index again")
	c.reader.Expired = true
	c.reads(1)
}

// TestForged: an index counts if the keys that the policy names signed it, and not
// because of what else is attached to it.
func TestForged(t *testing.T) {
	c := newCatalogue(t)
	one := c.next(nil, rackAware(version("1.2.0", "1")))
	good := c.publish("catalogue", text(t, one))
	c.reads(1)
	evil := text(t, c.next(one, rackAware(version("1.3.0", "e"))))
	described := c.publish("", evil)
	c.refuses("indexes[0].signatures: it has no signature; 1 of the keys catalogue are needed")
	c.publish("stranger", evil)
	c.refuses("indexes[0].signatures: it is signed by 0 of the keys catalogue, 1 are needed")
	// The signature of another artifact, which the right key made.
	store, err := oci.New(oci.Config{}).Create(t.Context(), c.ref)
	if err != nil {
		t.Fatal(err)
	}
	c.attach(store, described, "catalogue", good.Digest.String())
	c.refuses("catalogue: the signed statement is about another image: " + good.Digest.String())
	// A registry that serves other bytes under the digests of the right index.
	if err := store.Tag(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	c.reads(1)
	c.answer = func(path string, honest []byte) []byte {
		if bytes.Contains(honest, []byte("rack-aware")) && strings.Contains(path, "/blobs/") {
			return bytes.Replace(honest, []byte(digest("1")), []byte(digest("e")), 1)
		}
		return honest
	}
	c.refuses("its list: its bytes do not have the digest sha256:")
	c.answer = nil
	// What the right key signed must still be an index.
	c.publish("catalogue", []byte(`{"plugins":[{"name":"`+"\x1b[2J"+`"}]}`))
	c.refuses("invalid character '\\x1b' in string literal: make it with berth plugin index")
	c.publish("catalogue", bytes.Replace(text(t, one), []byte("Apache-2.0"), []byte(`\u001b[2J`), 1))
	c.refuses(`plugins[0].versions[0].license: "\x1b[2J" contains a non-printable character`)
}
