package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/market/signing"
)

var (
	image  = digest("1")
	module = digest("2")
	now    = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// signers are keys by name, for policies in YAML.
type signers map[string]*signing.PrivateKey

func newSigners(t testing.TB, names ...string) signers {
	t.Helper()
	out := signers{}
	for i, name := range names {
		key, err := signing.Generate([]string{signing.ECDSA, signing.Ed25519}[i%2])
		if err != nil {
			t.Fatal(err)
		}
		out[name] = key
	}
	return out
}

// yaml returns a policy with these keys; extra has more fields of a key, by its name.
func (s signers) yaml(rest string, extra map[string]string) []byte {
	out := "apiVersion: berth.dev/v1alpha1\nkind: VerificationPolicy\nkeys:\n"
	for name, key := range s {
		out += fmt.Sprintf("- name: %s\n  publicKey: |\n    %s\n%s", name, strings.ReplaceAll(strings.TrimSpace(string(key.Public().PEM())), "\n", "\n    "), extra[name])
	}
	return []byte(out + rest)
}

func (s signers) parse(t testing.TB, rest string, extra map[string]string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(s.yaml(rest, extra))
	if err != nil {
		t.Fatalf("%v\n%s", err, rest)
	}
	return p
}

// signed returns an image that these keys signed.
func (s signers) signed(t testing.TB, names ...string) *policy.Subject {
	t.Helper()
	out := &policy.Subject{Name: "rack-aware", Version: "1.2.0", Publisher: "Example", Repository: "ghcr.io/example/rack-aware", Module: module, Image: image}
	for _, name := range names {
		text, err := signing.SignImage(s[name], image)
		if err != nil {
			t.Fatal(err)
		}
		out.Bundles = append(out.Bundles, text)
	}
	return out
}

const publishers = "publishers:\n- {name: Example, keys: [old, new], repositories: [\"ghcr.io/example/*\"]}\n"

// TestJudge: a module that meets the requirements is admitted; a refusal names the requirement
// and the digest.
func TestJudge(t *testing.T) {
	keys := newSigners(t, "old", "new", "security", "stranger")
	of := func(names ...string) *policy.Subject { return keys.signed(t, names...) }
	with := func(s *policy.Subject, change func(*policy.Subject)) *policy.Subject { change(s); return s }
	two := "require: {signatures: {keys: [old, new, security], least: 2}}\n"
	for name, c := range map[string]struct {
		policy  string
		extra   map[string]string
		subject *policy.Subject
		want    string // empty if it may run
	}{
		"signed":             {"require: {signatures: {keys: [old]}}", nil, of("old"), ""},
		"unsigned":           {"require: {signatures: {keys: [old]}}", nil, of(), "require.signatures: it has no signature; 1 of the keys old are needed"},
		"wrong key":          {"require: {signatures: {keys: [old]}}", nil, of("stranger"), "require.signatures: it is signed by 0 of the keys old, 1 are needed"},
		"two keys":           {two, nil, of("old", "security"), ""},
		"one key twice":      {two, nil, of("old", "old"), "require.signatures: it is signed by 1 of the keys old, new, security, 2 are needed"},
		"a revoked key":      {"revoked: {keys: [old]}\n" + two, nil, of("old", "new"), "the key old signed it, but is revoked"},
		"a revoked key lock": {"revoked: {keys: [old]}\n" + two, nil, with(of("old", "new"), func(s *policy.Subject) { s.Locked = true }), "the key old signed it, but is revoked"},
		"an ended key":       {"require: {signatures: {keys: [old]}}", map[string]string{"old": "  notAfter: 2026-01-01T00:00:00Z\n"}, of("old"), "the key old signed it, but it expired on 2026-01-01T00:00:00Z"},
		"an ended key, lock": {"require: {signatures: {keys: [old]}}", map[string]string{"old": "  notAfter: 2026-01-01T00:00:00Z\n"}, with(of("old"), func(s *policy.Subject) { s.Locked = true }), ""},
		"a key that goes on": {"require: {signatures: {keys: [old]}}", map[string]string{"old": "  notAfter: 2027-01-01T00:00:00Z\n"}, of("old"), ""},
		"rotated":            {publishers + "require: {publisher: Example}", map[string]string{"old": "  notAfter: 2026-01-01T00:00:00Z\n"}, of("new"), ""},
		"publisher":          {publishers + "require: {publisher: Example}", nil, of("old"), ""},
		"another publisher":  {publishers + "require: {publisher: Example}", nil, with(of("old"), func(s *policy.Subject) { s.Publisher = "Exarnple" }), `require.publisher: its publisher is "Exarnple", not "Example"`},
		"another repository": {publishers + "require: {publisher: Example}", nil, with(of("old"), func(s *policy.Subject) { s.Repository = "ghcr.io/evil/rack-aware" }), "it is from ghcr.io/evil/rack-aware, but Example publishes in ghcr.io/example/*"},
		"deeper repository":  {publishers + "require: {publisher: Example}", nil, with(of("old"), func(s *policy.Subject) { s.Repository = "ghcr.io/example/evil/rack-aware" }), "it is from ghcr.io/example/evil/rack-aware"},
		"publisher by other": {publishers + "require: {publisher: Example}", nil, of("security"), "require.publisher: it is signed by 0 of the keys old, new, 1 are needed"},
		"image digest":       {"require: {digests: [\"" + image + "\"]}", nil, of(), ""},
		"module digest":      {"require: {digests: [\"" + module + "\"]}", nil, of(), ""},
		"other digest":       {"require: {digests: [\"" + digest("3") + "\"]}", nil, of("old"), "require.digests: neither the image nor the module " + module + " is in the list"},
		"revoked image":      {"revoked: {digests: [\"" + image + "\"]}\nrequire: {digests: [\"" + image + "\"]}", nil, of(), "revoked.digests[0]: this digest is revoked"},
		"revoked module":     {"revoked: {digests: [\"" + module + "\"]}\nrequire: {signatures: {keys: [old]}}", nil, with(of("old"), func(s *policy.Subject) { s.Locked = true }), "revoked.digests[0]: this digest is revoked"},
		"version":            {"require: {minimumVersion: {plugin: rack-aware, version: 1.2.0}}", nil, of(), ""},
		"old version":        {"require: {minimumVersion: {plugin: rack-aware, version: 1.10.0}}", nil, of("old"), "require.minimumVersion: it has the version 1.2.0, at least 1.10.0 is required"},
		"prerelease":         {"require: {minimumVersion: {plugin: rack-aware, version: 1.2.0}}", nil, with(of(), func(s *policy.Subject) { s.Version = "1.2.0-rc.1" }), "it has the version 1.2.0-rc.1"},
		"of another plugin":  {"require: {minimumVersion: {plugin: zone-cost, version: 9.0.0}}", nil, of(), ""},
		"all of":             {"require:\n  allOf:\n  - signatures: {keys: [old]}\n  - minimumVersion: {plugin: rack-aware, version: 2.0.0}", nil, of("old"), "require.allOf[1].minimumVersion: "},
		"any of":             {"require:\n  anyOf:\n  - signatures: {keys: [new]}\n  - signatures: {keys: [old]}", nil, of("old"), ""},
		"none of":            {"require:\n  anyOf:\n  - signatures: {keys: [new]}\n  - digests: [\"" + digest("3") + "\"]", nil, of("old"), "require: 0 of 2 requirements are met, 1 are needed: require.anyOf[0].signatures: "},
		"two of any":         {"require:\n  least: 2\n  anyOf:\n  - signatures: {keys: [new]}\n  - signatures: {keys: [old]}\n  - signatures: {keys: [security]}", nil, of("old", "security"), ""},
		"one of any two":     {"require:\n  least: 2\n  anyOf:\n  - signatures: {keys: [new]}\n  - signatures: {keys: [old]}\n  - signatures: {keys: [security]}", nil, of("old"), "require: 1 of 3 requirements are met, 2 are needed"},
		"another's signature": {"require: {signatures: {keys: [old]}}", nil, with(of("old"), func(s *policy.Subject) { s.Image = digest("9") }),
			"old: the signed statement is about another image: " + image},
		"a file's signature": {"require: {signatures: {keys: [old]}}", nil, with(of(), func(s *policy.Subject) {
			s.Bundles = [][]byte{file(t, keys["old"], "module")}
		}), "old: the bundle signs a file, not an image"},
		"a file": {"require: {signatures: {keys: [old]}}", nil, &policy.Subject{Name: "x", Version: "1.0.0", Module: module, Data: []byte("module"), Bundles: [][]byte{file(t, keys["old"], "module")}}, ""},
		"a file, changed": {"require: {signatures: {keys: [old]}}", nil, &policy.Subject{Name: "x", Version: "1.0.0", Module: module, Data: []byte("MODULE"), Bundles: [][]byte{file(t, keys["old"], "module")}},
			module + ": the verification policy refuses it: require.signatures: it is signed by 0 of"},
		"garbage beside":    {"require: {signatures: {keys: [old]}}", nil, with(of("old"), func(s *policy.Subject) { s.Bundles = append(s.Bundles, []byte("\x1b[2J{")) }), ""},
		"garbage":           {"require: {signatures: {keys: [old]}}", nil, with(of(), func(s *policy.Subject) { s.Bundles = append(s.Bundles, []byte("\x1b[2J{")) }), "the bundle: "},
		"the registry lies": {"require: {signatures: {keys: [old]}}", nil, with(of(), func(s *policy.Subject) { s.Lies = []error{errors.New("it is about another image")} }), "it is about another image"},
	} {
		p := keys.parse(t, c.policy, c.extra)
		_, err := p.Judge(c.subject, now)
		var refusal *policy.Refusal
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "":
		case !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case refusal.Digest != c.subject.Image && refusal.Digest != module || strings.Contains(err.Error(), "\x1b"):
			t.Errorf("%s: the digest is %s in %q", name, refusal.Digest, err)
		}
	}
}

// TestJudgeIndex: an index is trusted if it is signed by the keys that the policy names for it;
// keys of plugins do not count.
func TestJudgeIndex(t *testing.T) {
	keys := newSigners(t, "catalogue", "deputy", "team")
	const rest = "indexes:\n- {repositories: [\"ghcr.io/example/*\"], signatures: {keys: [catalogue, deputy]}}\nrequire: {signatures: {keys: [team]}}\n"
	in := func(repository string, names ...string) *policy.Subject {
		s := keys.signed(t, names...)
		s.Repository = repository
		return s
	}
	const there = "ghcr.io/example/index"
	for want, c := range map[string]struct {
		subject *policy.Subject
		more    string
	}{
		"": {in(there, "team", "deputy"), ""},
		"indexes[0].signatures: it has no signatur":              {in(there), ""},
		"it is signed by 0 of the keys catalogue, ":              {in(there, "team"), ""},
		"indexes: the policy has none for ghcr.io/evil/index: a": {in("ghcr.io/evil/index", "catalogue"), ""},
		"the key catalogue signed it, but is revok":              {in(there, "catalogue"), "revoked: {keys: [catalogue]}\n"},
		"revoked.digests[0]: this digest is revoke":              {in(there, "catalogue"), "revoked: {digests: [\"" + image + "\"]}\n"},
		"catalogue: the signed statement is about ":              {func() *policy.Subject { s := in(there, "catalogue"); s.Image = digest("7"); return s }(), ""},
	} {
		got, err := keys.parse(t, rest+c.more, nil).JudgeIndex(c.subject, now)
		refused := err != nil && strings.Contains(err.Error(), want)
		if want == "" && (err != nil || len(got.Names) != 2 || len(got.Trusted) != 2 || len(got.Signers) != 1) || want != "" && !refused {
			t.Errorf("%+v, %v, want %q", got, err, want)
		}
	}
}

func file(t testing.TB, key *signing.PrivateKey, data string) []byte {
	t.Helper()
	text, err := signing.SignFile(key, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestParse: an invalid policy is refused, and the error says where.
func TestParse(t *testing.T) {
	keys := newSigners(t, "a")
	again := strings.ReplaceAll(strings.TrimSpace(string(keys["a"].Public().PEM())), "\n", "\n    ")
	for rest, want := range map[string]string{
		"":                                      "require: 0 of allOf, anyOf, publisher",
		"require: {signatures: {keys: [b]}}":    `require.signatures.keys[0]: there is no key "b" in keys`,
		"require: {signatures: {keys: [a, a]}}": `require.signatures.keys[1]: "a" appears twice`,
		"require: {signatures: {keys: [a], least: 2}}":           "require.signatures.least: 2 of 1 is impossible",
		"require: {signatures: {keys: []}}":                      "require.signatures.least: 1 of 0 is impossible",
		"require: {signatures: {keys: [a], least: -1}}":          "is impossible",
		"require: {publisher: X}":                                `require.publisher: there is no publisher "X"`,
		"require: {digests: [abc]}":                              `require.digests[0]: "abc" is not a digest`,
		"require: {digests: []}":                                 "require: the list is empty",
		"require: {allOf: []}":                                   "require: the list is empty",
		"require: {least: 1, digests: [\"" + image + "\"]}":      "require.least: it is only for anyOf",
		"require: {minimumVersion: {plugin: x, version: \"1\"}}": "require.minimumVersion: write plugin: NAME",
		"require: {publisher: X, digests: [\"" + image + "\"]}":  "require: 2 of allOf",
		"requires: {}": "requires",
		"indexes: [{signatures: {keys: [b]}}]\nrequire: {signatures: {keys: [a]}}":           `indexes[0].signatures.keys[0]: there is no key "b" in keys`,
		"indexes: [{repositories: [x]}]\nrequire: {signatures: {keys: [a]}}":                 "indexes[0].signatures.least: 1 of 0 is impossible",
		"revoked: {keys: [b], digests: [x]}":                                                 `revoked.digests[0]: "x" is not a digest`,
		"publishers: [{name: X, keys: []}]\nrequire: {publisher: X}":                         "publishers[0].keys: a publisher needs a key",
		"publishers: [{name: X, keys: [a], repositories: [\"[\"]}]\nrequire: {publisher: X}": "publishers[0].repositories[0]:",
		// With such patterns anybody's registry would do.
		"publishers: [{name: X, keys: [a], repositories: [\"*/example/x\"]}]\nrequire: {publisher: X}":                 `repositories[0]: "*/example/x" is not a pattern: the registry is without *, so that it is nobody else's: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.io/Example/*\"]}]\nrequire: {publisher: X}":           `repositories[0]: "ghcr.io/Example/*" is not a pattern: names in registries have no upper case: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"https://ghcr.io/example/*\"]}]\nrequire: {publisher: X}":   `repositories[0]: "https://ghcr.io/example/*" is not a pattern: a scheme is not part of it: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.io/example/x:1.0.0\"]}]\nrequire: {publisher: X}":     `repositories[0]: "ghcr.io/example/x:1.0.0" is not a pattern: a tag is not part of it: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.io/example/x@sha256:00\"]}]\nrequire: {publisher: X}": `repositories[0]: "ghcr.io/example/x@sha256:00" is not a pattern: a digest is not part of it, but belongs in digests: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.io/**\"]}]\nrequire: {publisher: X}":                  `repositories[0]: "ghcr.io/**" is not a pattern: ** stands for no more than *, which is one part of the name: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.io/example/**\"]}]\nrequire: {publisher: X}":          `repositories[0]: "ghcr.io/example/**" is not a pattern: ** stands for no more than *, which is one part of the name: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.io\"]}]\nrequire: {publisher: X}":                     `repositories[0]: "ghcr.io" is not a pattern: it has no repository after the registry: write REGISTRY/REPOSITORY`,
		"publishers: [{name: X, keys: [a], repositories: [\"ghcr.i?/example/x\"]}]\nrequire: {publisher: X}":           "publishers[0].repositories[0]:",
		"indexes: [{repositories: [\"[a-z]hcr.io/x\"], signatures: {keys: [a]}}]\nrequire: {publisher: X}":             "indexes[0].repositories[0]:",
		"- name: same\n  publicKey: |\n    " + again + "\nrequire: {signatures: {keys: [a]}}":                          `keys[1]: "same" is the same key as "a"`,
		"- name: bad\n  publicKey: text\nrequire: {signatures: {keys: [a]}}":                                           "keys[1].publicKey: it is not a public key in PEM",
		"require: " + strings.Repeat("{allOf: [", 20) + "{publisher: X}" + strings.Repeat("]}", 20):                    "nested deeper than 16",
		"require: {allOf: [" + strings.Repeat("{signatures: {keys: [a]}}, ", 300) + "{publisher: \"\"}]}":              "more than 256 requirements",
	} {
		if _, err := policy.Parse(keys.yaml(rest, nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", rest, err, want)
		}
	}
	if _, err := policy.Parse([]byte("kind: Policy")); err == nil || !strings.Contains(err.Error(), "write kind: VerificationPolicy") {
		t.Error(err)
	}
}

// FuzzParse: any policy is either refused or judges modules. Without digests and versions in
// it, an unsigned module is never admitted.
func FuzzParse(f *testing.F) {
	keys := newSigners(f, "a")
	f.Add(keys.yaml("require: {signatures: {keys: [a]}}", nil))
	f.Add(keys.yaml("publishers: [{name: X, keys: [a]}]\nrequire: {anyOf: [{publisher: X}, {allOf: [{signatures: {keys: [a]}}]}]}", nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Parse(text)
		if err != nil {
			return
		}
		stranger := &policy.Subject{Name: "x", Version: "0.0.0", Publisher: "X", Module: digest("4"), Image: digest("5")}
		names, err := p.Judge(stranger, now)
		other := strings.Contains(string(text), "inimumVersion") || strings.Contains(string(text), "igests")
		if len(names) > 0 || err == nil && !other {
			t.Errorf("an unsigned module is admitted, by %q", names)
		}
		if _, err := p.JudgeIndex(stranger, now); err == nil {
			t.Error("an unsigned index is trusted")
		}
	})
}
