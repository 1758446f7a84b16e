package signing

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	bundlev1 "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	dssev1 "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
)

// TestAmbiguous: a statement that readers understand differently signs nothing, although the right key made it.
func TestAmbiguous(t *testing.T) {
	key, err := Generate(ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	mine, other := strings.Repeat("5", 64), strings.Repeat("6", 64)
	about := func(digits string) string { return `[{"digest":{"sha256":"` + digits + `"}}]` }
	rest := `,"predicateType":"` + PredicateType + `","_type":"` + statementType + `"}`
	for payload, want := range map[string]string{
		`{"subject":` + about(mine) + `,"predicate":{"x":1,"Subject":2}` + rest:                      "",
		`{"subject":[{"name":"x","digest":{"sha512":"1","sha256":"` + mine + `"}}],"more":{}` + rest: "",
		`{"subject":` + about(other) + `,"subject":` + about(mine) + rest:                            "subject: the field appears twice",
		`{"subject":` + about(other) + `,"Subject":` + about(mine) + rest:                            `it has the field "Subject", not subject`,
		`{"SUBJECT":` + about(mine) + rest:                                                           `it has the field "SUBJECT", not subject`,
		`{"\u017fubject":` + about(mine) + rest:                                                      "not subject",
		`{"subject":[{"Digest":{"sha256":"` + mine + `"}}]` + rest:                                   `it has the field "Digest", not digest`,
		`{"subject":[{"digest":{"SHA256":"` + mine + `"}}]` + rest:                                   `it has the field "SHA256", not sha256`,
		`{"subject":[{"digest":{"sha256":"` + other + `","sha256":"` + mine + `"}}]` + rest:          "the field appears twice",
		`{"_Type":"x","subject":` + about(mine) + rest:                                               `it has the field "_Type", not _type`,
		`{"predicateType":"x","subject":` + about(mine) + rest:                                       "predicateType: the field appears twice",
		`{"subject":` + about(mine) + rest + `{}`:                                                    "text after the end",
		`[]`:                        "the signed statement",
		strings.Repeat("[", 10_000): "nested deeper",
	} {
		signature, err := key.sign(preAuth([]byte(payload)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := key.bundle(&bundlev1.Bundle{Content: &bundlev1.Bundle_DsseEnvelope{DsseEnvelope: &dssev1.Envelope{
			Payload: []byte(payload), PayloadType: payloadType, Signatures: []*dssev1.Signature{{Sig: signature}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseBundle(text)
		if err == nil {
			err = b.VerifyImage(key.Public(), "sha256:"+mine)
		}
		if fmt.Sprint(err) != "<nil>" != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: %v, want %q", payload, err, want)
		}
	}
}

// TestLowOrder: with a public key of low order, a signature of zeros is good for many messages. Such keys are refused.
func TestLowOrder(t *testing.T) {
	forged := append(append([]byte{1}, make([]byte, 31)...), make([]byte, 32)...) // the neutral point, and the scalar 0
	refused := 0
	for _, y := range []string{
		strings.Repeat("00", 32), "01" + strings.Repeat("00", 31), "ec" + strings.Repeat("ff", 30) + "7f", "ed" + strings.Repeat("ff", 30) + "7f",
		"ee" + strings.Repeat("ff", 30) + "7f", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	} {
		for _, sign := range []byte{0, 0x80} {
			key, err := hex.DecodeString(y)
			if err != nil {
				t.Fatal(err)
			}
			key[31] |= sign
			accepts := false
			for i := range 256 {
				accepts = accepts || ed25519.Verify(key, []byte{byte(i)}, forged)
			}
			der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(key))
			if err != nil {
				t.Fatal(err)
			}
			_, err = ParsePublicKey(pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: der}))
			if err == nil || !strings.Contains(err.Error(), "low order") {
				t.Errorf("%x: %v; a forged signature is accepted: %v", key, err, accepts)
			}
			if accepts {
				refused++
			}
		}
	}
	if refused < 8 {
		t.Errorf("only %d of the keys accept a forged signature", refused)
	}
}
