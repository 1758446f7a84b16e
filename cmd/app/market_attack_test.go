package app

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
	"github.com/berth-scheduler/berth/runtime/market/signing"
	"github.com/berth-scheduler/berth/runtime/module"
)

// stall is a registry with two versions of a plugin and a policy that trusts one key for
// all.
type stall struct {
	t        *testing.T
	dir      string
	registry string
	key      *signing.PrivateKey
	honest   *index.File
}

func newStall(t *testing.T) *stall {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := &stall{t: t, dir: t.TempDir()}
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.registry = strings.TrimPrefix(server.URL, "http://")
	if s.key, err = signing.Generate(signing.ECDSA); err != nil {
		t.Fatal(err)
	}
	rules := "apiVersion: berth.dev/v1alpha1\nkind: VerificationPolicy\nkeys:\n- name: team\n  publicKey: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(string(s.key.Public().PEM())), "\n", "\n    ") +
		"\nindexes: [{signatures: {keys: [team]}}]\nrequire: {signatures: {keys: [team]}}\n"
	accepts, err := vector("good")
	err = errors.Join(err, os.WriteFile(filepath.Join(s.dir, "policy.yaml"), []byte(rules), 0o600), racks(accepts, s.dir))
	if err != nil {
		t.Fatal(err)
	}
	plugin := index.Plugin{Name: "rack-aware", Repository: s.registry + "/team/rack-aware"}
	for _, version := range []string{"1.2.0", "1.3.0"} {
		plugin.Versions = append(plugin.Versions, s.push(version))
	}
	if s.honest, _, err = index.Next(nil, []index.Plugin{plugin}, time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	return s
}

// push stores and signs a version.
func (s *stall) push(version string) index.Version {
	s.t.Helper()
	l, err := module.Read(filepath.Join(s.dir, "rack-aware-"+version+".wasm"))
	if err != nil {
		s.t.Fatal(err)
	}
	store := s.open("team/rack-aware")
	image, err := store.Push(s.t.Context(), l.Bytes, l.Manifest)
	if err == nil {
		err = signDigest(s.t.Context(), store, image.Descriptor, s.key)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	v := index.Describe(l.Manifest)
	v.Image, v.Module, v.Size = image.Descriptor.Digest.String(), l.Digest, int64(len(l.Bytes))
	return v
}

func (s *stall) open(repository string) *oci.Store {
	s.t.Helper()
	ref, err := oci.ParseReference(s.registry + "/" + repository)
	if err != nil {
		s.t.Fatal(err)
	}
	ref.Tag = ""
	store, err := oci.New(oci.Config{}).Create(s.t.Context(), ref)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// publish signs and publishes an index as it is.
func (s *stall) publish(f *index.File) {
	s.t.Helper()
	text, err := f.Text()
	if err != nil {
		s.t.Fatal(err)
	}
	store := s.open("team/index")
	described, err := store.PushIndex(s.t.Context(), text, nil)
	if err == nil {
		err = signDigest(s.t.Context(), store, described, s.key)
	}
	if err == nil {
		err = store.Tag(s.t.Context(), described)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// yank signs a module's file, and publishes an index that has it and yanks it.
func (s *stall) yank(file string) {
	s.t.Helper()
	l, err := module.Read(file)
	if err != nil {
		s.t.Fatal(err)
	}
	bundle, err := signing.SignFile(s.key, l.Bytes)
	if err == nil {
		err = os.WriteFile(file+signing.Suffix, bundle, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	v := index.Describe(l.Manifest)
	v.Image, v.Module, v.Size = l.Digest, l.Digest, int64(len(l.Bytes)) // whatever its image is
	f, _, err := index.Next(s.honest, []index.Plugin{{Name: l.Manifest.Name, Repository: s.registry + "/team/yanked", Versions: []index.Version{v}}}, time.Now(), time.Hour)
	if err == nil {
		err = f.Mark(l.Manifest.Name, v.Version, &index.Yank{Reason: "bad"})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.publish(f)
}

// install runs a command about the index in a folder of its own.
func (s *stall) install(args ...string) (stdout, stderr string, status int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"plugin"}, args...)
	args = append(args, "--index", s.registry+"/team/index", "--verification-policy", filepath.Join(s.dir, "policy.yaml"), "--module-cache", s.t.TempDir(), "--yes")
	status = run(s.t.Context(), args, &out, &errs)
	return out.String(), errs.String(), status
}

// TestLyingIndex: what an index says of a plugin is held against the module, so that
// nobody agrees to something else than what is installed. Nothing is left behind.
func TestLyingIndex(t *testing.T) {
	s := newStall(t)
	for want, lie := range map[string]func(p *index.Plugin){
		// An old version, with whatever was wrong with it, is sold as the new one.
		`the module of the digest is version "1.2.0", not that of the tag`: func(p *index.Plugin) {
			p.Versions[1].Image, p.Versions[1].Module = p.Versions[0].Image, p.Versions[0].Module
		},
		`the index lists the permissions "runs at filter", the module has "runs at filter, reads `:    func(p *index.Plugin) { p.Versions[1].Reads = nil },
		`the index lists the publisher "Trusted", the module has "Example"`:                           func(p *index.Plugin) { p.Versions[1].Publisher = "Trusted" },
		`the index lists the licence "MIT", the module has "Apache-2.0"`:                              func(p *index.Plugin) { p.Versions[1].License = "MIT" },
		`the index lists the name "racks", the module has "rack-aware"`:                               func(p *index.Plugin) { p.Name = "racks" },
		`the index lists the module "` + s.honest.Plugins[0].Versions[0].Module + `", the module has`: func(p *index.Plugin) { p.Versions[1].Module = p.Versions[0].Module },
		"image not found": func(p *index.Plugin) { p.Versions[1].Image = p.Versions[0].Module },
	} {
		f, _, err := index.Next(s.honest, nil, time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		lie(&f.Plugins[0])
		s.publish(f)
		into := t.TempDir()
		for _, args := range [][]string{
			{"--config", filepath.Join(into, "scheduler.yaml"), "--lock", filepath.Join(into, "berth.lock")},
			{"--plugin-dir", into},
		} {
			_, stderr, status := s.install(append([]string{"install", f.Plugins[0].Name}, args...)...)
			if status == exitOK || !strings.Contains(stderr, want) {
				t.Errorf("%v: status %d, %s, want %q", args, status, stderr, want)
			}
		}
		if left, err := os.ReadDir(into); err != nil || len(left) > 0 {
			t.Errorf("%v is left behind, %v", left, err)
		}
	}
	s.publish(s.honest)
	into := t.TempDir()
	if _, stderr, status := s.install("install", "rack-aware", "--plugin-dir", into); status != exitOK {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestVerifyExpired: who signed an index does not matter once it has expired.
func TestVerifyExpired(t *testing.T) {
	s := newStall(t)
	verify := func() (stderr string, status int) {
		var out, errs bytes.Buffer
		status = run(t.Context(), []string{"plugin", "verify", s.registry + "/team/index", "--policy", filepath.Join(s.dir, "policy.yaml")}, &out, &errs)
		return errs.String(), status
	}
	s.publish(s.honest)
	if stderr, status := verify(); status != exitOK {
		t.Errorf("status %d, %s", status, stderr)
	}
	f, _, err := index.Next(s.honest, nil, time.Now().Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.publish(f)
	if stderr, status := verify(); status == exitOK || !strings.Contains(stderr, "it expired on ") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestHostileAttachments: a README and an SBOM are shown without terminal escapes. One whose
// digest the index does not have is refused, and so is an SBOM that is not JSON.
func TestHostileAttachments(t *testing.T) {
	s := newStall(t)
	v := &s.honest.Plugins[0].Versions[1]
	store := s.open("team/rack-aware")
	image, err := store.Image(t.Context(), v.Image)
	if err != nil {
		t.Fatal(err)
	}
	attach := func(kind, text string) string {
		described, err := store.Attach(t.Context(), image.Descriptor, oci.Attachment{Type: kind, Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return described.Digest.String()
	}
	const evil = "\x1b[2J\u202e\x07"
	attach(oci.ReadmeType, "another README")
	v.Docs = attach(oci.ReadmeType, "# Racks "+evil+"\n")
	for _, c := range []struct{ flag, sbom, stdout, stderr string }{
		{"--readme", "", "# Racks ", ""},
		{"--sbom", `{"name": "` + "\u202e" + `"}`, `{"name": "\u202e"}`, ""},
		{"--sbom", `{"name": "` + evil + `"}`, "", "the SBOM of rack-aware 1.3.0 is not JSON: ask its publisher"},
		{"--sbom", "none", "", "has no SBOM with the digest sha256:"},
	} {
		if v.SBOM = ""; c.sbom != "" {
			v.SBOM = attach(oci.SBOMType, c.sbom)
		}
		if c.sbom == "none" {
			v.SBOM = v.Docs // which is no SBOM
		}
		s.publish(s.honest)
		var out, errs bytes.Buffer
		run(t.Context(), []string{"plugin", "info", "rack-aware", c.flag, "--index", s.registry + "/team/index", "--verification-policy", filepath.Join(s.dir, "policy.yaml"), "--module-cache", t.TempDir()}, &out, &errs)
		if !strings.HasPrefix(out.String(), c.stdout) || !strings.Contains(errs.String(), c.stderr) || strings.ContainsAny(out.String()+errs.String(), evil[:1]+"\u202e\x07") {
			t.Errorf("%s: %q, %q", c.flag, out.String(), errs.String())
		}
	}
}

// TestAttachedByStrangers: anybody who may push to a repository can attach a README and an SBOM to its images. An index lists
// them only if a key that signed the image signed them too, and what it lists stays.
func TestAttachedByStrangers(t *testing.T) {
	s := newStall(t)
	v := s.honest.Plugins[0].Versions[1]
	store := s.open("team/rack-aware")
	image, err := store.Image(t.Context(), v.Image)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := signing.Generate(signing.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	attach := func(kind, text string, key *signing.PrivateKey) string {
		described, err := store.Attach(t.Context(), image.Descriptor, oci.Attachment{Type: kind, Data: []byte(text)})
		if err == nil && key != nil {
			err = signDigest(t.Context(), store, described, key)
		}
		if err != nil {
			t.Fatal(err)
		}
		return described.Digest.String()
	}
	before, told := s.honest, 0
	lists := func(docs, sbom string) {
		t.Helper()
		l := &listing{
			client: oci.New(oci.Config{}), before: before, keys: []*signing.PublicKey{stranger.Public(), s.key.Public()},
			tell: func(string) { told++ },
		}
		found, err := l.plugin(t.Context(), s.honest.Plugins[0].Repository)
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Versions[1]; got.Docs != docs || got.SBOM != sbom || got.Conformance != nil {
			t.Errorf("lists %q and %q, want %q and %q", got.Docs, got.SBOM, docs, sbom)
		}
		if before, _, err = index.Next(before, []index.Plugin{*found}, time.Now(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	lists("", "")
	for i := range 8 { // digests above and below that of the honest one
		attach(oci.ReadmeType, fmt.Sprint("# Install from evil.example ", i), nil)
		attach(oci.SBOMType, fmt.Sprint(`{"bomFormat":"CycloneDX","version":`, i, "}"), stranger)
		attach(oci.ConformanceType, fmt.Sprintf(`{"module":%q,"kept":%d}`, v.Module, i+1), stranger)
	}
	lists("", "")
	if told != 1 {
		t.Errorf("told %d times of what is not listed", told)
	}
	docs := attach(oci.ReadmeType, "# Racks", s.key)
	lists(docs, "")
	sbom := attach(oci.SBOMType, `{"bomFormat":"CycloneDX"}`, s.key)
	for i := range 8 {
		attach(oci.ReadmeType, fmt.Sprint("# Racks ", i), s.key)
	}
	lists(docs, sbom)
	var tells []string
	names, err := signAttachments(t.Context(), store, image, s.key, func(text string) { tells = append(tells, text) })
	if err != nil || len(names) > 0 || len(tells) != 3 {
		t.Errorf("%v, %v, %v: what several have attached is signed", names, tells, err)
	}
	lists(docs, sbom)
}

// TestYankedElsewhere: a module that is yanked cannot be locked in another image either, unless it was locked from that before.
func TestYankedElsewhere(t *testing.T) {
	s := newStall(t)
	if err := s.honest.Mark("rack-aware", "1.2.0", &index.Yank{Reason: "it counts racks twice"}); err != nil {
		t.Fatal(err)
	}
	found := []lock.Plugin{{
		Name: "rack-aware", Module: s.honest.Plugins[0].Versions[0].Module, Image: module.Digest([]byte("another manifest")),
	}}
	err := refuseYanked(s.honest, found, nil, func(string) {})
	if err == nil || err.Error() != "rack-aware 1.2.0 is yanked: it counts racks twice" {
		t.Error(err)
	}
	if err := refuseYanked(s.honest, found, &lock.File{Plugins: found}, func(string) {}); err != nil {
		t.Error(err)
	}
}

// TestApply: steps that cannot all be taken leave everything as it was.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"kept": "old", "removed": "there", "empty": ""} {
		if err := os.WriteFile(path(name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		var out []string
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(path(f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, f.Name()+"="+string(text))
		}
		return strings.Join(out, " ")
	}
	steps := []step{{path("kept"), []byte("new")}, {path("made"), []byte("x")}, {path("removed"), nil}, {path("empty"), []byte("full")}, {path("never"), nil}}
	before := state()
	err := apply(append(steps[:len(steps):len(steps)], step{filepath.Join(dir, "none", "x"), []byte("x")}))
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") || state() != before {
		t.Errorf("%v, %s, want %s", err, state(), before)
	}
	if err := apply(steps); err != nil || state() != "empty=full kept=new made=x" {
		t.Errorf("%v, %s", err, state())
	}
	if info, err := os.Stat(path("kept")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}
