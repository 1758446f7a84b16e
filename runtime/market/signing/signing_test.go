package signing_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/market/signing"
)

// image is the digest of the image that cosign signed.
const image = "sha256:506353a01297ae3f95c5e813045f87a64a5e5a79fba6814ef3109f92ced7d7e8"

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cosign", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func publicKey(t testing.TB, name string) *signing.PublicKey {
	t.Helper()
	key, err := signing.ParsePublicKey(read(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func bundle(t testing.TB, text []byte) *signing.Bundle {
	t.Helper()
	b, err := signing.ParseBundle(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCosign: bundles of cosign verify with the key that made them, and with no other.
func TestCosign(t *testing.T) {
	file := read(t, "file")
	for _, kind := range []string{"ecdsa", "ed25519"} {
		key, other := publicKey(t, kind+".pub"), publicKey(t, map[string]string{"ecdsa": "ed25519.pub", "ed25519": "ecdsa.pub"}[kind])
		ofFile, ofImage := bundle(t, read(t, "file."+kind+".sigstore.json")), bundle(t, read(t, "image."+kind+".sigstore.json"))
		if err := ofFile.VerifyFile(key, file); err != nil {
			t.Errorf("%s: file: %v", kind, err)
		}
		if err := ofImage.VerifyImage(key, image); err != nil {
			t.Errorf("%s: image: %v", kind, err)
		}
		for what, err := range map[string]error{
			"file, other key": ofFile.VerifyFile(other, file), "image, other key": ofImage.VerifyImage(other, image),
		} {
			if !errors.Is(err, signing.ErrOtherKey) {
				t.Errorf("%s: %s: %v", kind, what, err)
			}
		}
		for want, err := range map[string]error{
			"the bundle signs a file, not an image":        ofFile.VerifyImage(key, image),
			"the bundle signs an image, not a file":        ofImage.VerifyFile(key, file),
			"the signed statement is about another image":  ofImage.VerifyImage(key, "sha256:"+strings.Repeat("0", 64)),
			"the signed statement is about another image:": ofImage.VerifyImage(key, ""),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", kind, err, want)
			}
		}
		if err := ofFile.VerifyFile(key, append(file, ' ')); err == nil {
			t.Errorf("%s: a longer file verifies", kind)
		}
		private, err := signing.ParsePrivateKey(read(t, kind+".key"), func() ([]byte, error) { return []byte("secret"), nil })
		if err != nil || private.Public().ID() != key.ID() {
			t.Errorf("%s: the private key of cosign: %v", kind, err)
		}
		if _, err := signing.ParsePrivateKey(read(t, kind+".key"), func() ([]byte, error) { return []byte("guess"), nil }); err == nil || !strings.Contains(err.Error(), "is the password right?") {
			t.Errorf("%s: a wrong password: %v", kind, err)
		}
	}
}

// TestSign: our bundles verify, have the form of cosign's, and do not verify after a bit is
// changed.
func TestSign(t *testing.T) {
	for _, algorithm := range []string{signing.ECDSA, signing.Ed25519} {
		made, err := signing.Generate(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		text, err := made.PEM([]byte("secret"))
		if err != nil {
			t.Fatal(err)
		}
		key, err := signing.ParsePrivateKey(text, func() ([]byte, error) { return []byte("secret"), nil })
		if err != nil {
			t.Fatal(err)
		}
		public, err := signing.ParsePublicKey(key.Public().PEM())
		if err != nil || public.ID() != made.Public().ID() {
			t.Fatalf("%s: %v", algorithm, err)
		}
		ofFile, err := signing.SignFile(key, []byte("file"))
		if err != nil {
			t.Fatal(err)
		}
		ofImage, err := signing.SignImage(key, image)
		if err != nil {
			t.Fatal(err)
		}
		if err := bundle(t, ofFile).VerifyFile(public, []byte("file")); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
		if err := bundle(t, ofImage).VerifyImage(public, image); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
		if got, want := fields(t, ofImage), fields(t, read(t, "image.ecdsa.sigstore.json")); got != want {
			t.Errorf("%s: the bundle has the fields %s, cosign's %s", algorithm, got, want)
		}
		if got, want := fields(t, ofFile), fields(t, read(t, "file.ecdsa.sigstore.json")); got != want {
			t.Errorf("%s: the bundle has the fields %s, cosign's %s", algorithm, got, want)
		}
		changed(t, ofImage, func(b *signing.Bundle) error { return b.VerifyImage(public, image) })
		changed(t, ofFile, func(b *signing.Bundle) error { return b.VerifyFile(public, []byte("file")) })
	}
	if _, err := signing.Generate("rsa"); err == nil {
		t.Error("an unknown algorithm makes keys")
	}
}

// fields returns the structure of a value: its fields without their values.
func fields(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	var bare func(any) any
	bare = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				v[name] = bare(v[name])
			}
			return v
		case []any:
			for i := range v {
				v[i] = bare(v[i])
			}
			return v
		}
		return nil
	}
	out, err := json.Marshal(bare(value))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// changed flips a bit in each signed part of a bundle and requires that it is refused. The hint
// is not signed, and nothing relies on it.
func changed(t *testing.T, text []byte, verify func(*signing.Bundle) error) {
	t.Helper()
	var b map[string]any
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	b["verificationMaterial"] = map[string]any{"publicKey": map[string]any{"hint": "another"}}
	if err := verify(bundle(t, marshal(t, b))); err != nil {
		t.Errorf("with another hint: %v", err)
	}
	flip := func(m map[string]any, field string) {
		t.Helper()
		was := m[field].(string)
		raw, err := base64.StdEncoding.DecodeString(was)
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			raw[i] ^= 1
			m[field] = base64.StdEncoding.EncodeToString(raw)
			if err := verify(bundle(t, marshal(t, b))); err == nil {
				t.Errorf("with another byte %d of %s it verifies", i, field)
			}
			raw[i] ^= 1
		}
		m[field] = was
	}
	if message, ok := b["messageSignature"].(map[string]any); ok {
		flip(message, "signature")
		flip(message["messageDigest"].(map[string]any), "digest")
		return
	}
	envelope := b["dsseEnvelope"].(map[string]any)
	flip(envelope, "payload")
	flip(envelope["signatures"].([]any)[0].(map[string]any), "sig")
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRefused: unsuitable bundles and keys are refused, and the error says why.
func TestRefused(t *testing.T) {
	good := string(read(t, "image.ecdsa.sigstore.json"))
	for want, text := range map[string]string{
		"the bundle: ":           "{",
		"the bundle is of type ": strings.Replace(good, "v0.3", "v0.1", 1),
		"signed with a certificate: Berth verifies keys": strings.Replace(good, `"publicKey":{"hint":"TbqjMHh2m36Dn11DjshJ/Rnsyj8xNLlE+BHB+UdyvsI="}`, `"certificate":{"rawBytes":"AAAA"}`, 1),
		"neither a message's signature nor":              `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{}}}`,
		"the bundle has 2 signatures, not one":           strings.Replace(good, `"signatures":[`, `"signatures":[{"sig":"AAAA"},`, 1),
		"the bundle's payload is of type":                strings.Replace(good, "vnd.in-toto", "vnd.in-tot0", 1),
		"at most 262144 are allowed":                     good + strings.Repeat(" ", 256<<10),
	} {
		if _, err := signing.ParseBundle([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, text := range map[string]string{
		"it is not a public key in PEM": "key",
		"use P-256 or Ed25519":          "-----BEGIN PUBLIC KEY-----\nMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEqofKIr6LBTeOscce8yCtdG4dO2KLp5uY\nWfdB4IJUKjhVAvJdv1UpbDpUXjhydgq3NhfeSpYmLG9dnpi/kpLcKfj0Hb0omhR8\n6doxE7XwuMAKYLHOHX6BnXpDHXyQ6g5f\n-----END PUBLIC KEY-----\n",
	} {
		if _, err := signing.ParsePublicKey([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := signing.ParsePrivateKey(read(t, "ecdsa.pub"), nil); err == nil || !strings.Contains(err.Error(), "it is not an encrypted private key") {
		t.Error(err)
	}
}

// FuzzBundle: any bundle is either refused with a short text or parsed, and verifies only if it
// is the one that was signed.
func FuzzBundle(f *testing.F) {
	for _, name := range []string{"file.ecdsa", "file.ed25519", "image.ecdsa", "image.ed25519"} {
		f.Add(read(f, name+".sigstore.json"))
	}
	keys := []*signing.PublicKey{publicKey(f, "ecdsa.pub"), publicKey(f, "ed25519.pub")}
	other := "sha256:" + strings.Repeat("5", 64)
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := signing.ParseBundle(text)
		if err != nil {
			if len(err.Error()) > 1<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		for _, key := range keys {
			if b.VerifyImage(key, other) == nil || b.VerifyFile(key, []byte("another")) == nil {
				t.Error("it verifies what was never signed")
			}
		}
	})
}
