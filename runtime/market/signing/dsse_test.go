package signing

import (
	"encoding/json"
	"strings"
	"testing"

	bundlev1 "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	dssev1 "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
)

// FuzzDSSE: whatever the right key signed in an envelope, it signs an image only if it is an
// in-toto statement of cosign's about its digest.
func FuzzDSSE(f *testing.F) {
	key, err := Generate(Ed25519)
	if err != nil {
		f.Fatal(err)
	}
	digits := strings.Repeat("5", 64)
	f.Add([]byte(`{"_type":"`+statementType+`","subject":[{"digest":{"sha256":"`+digits+`"}}],"predicateType":"`+PredicateType+`","predicate":{}}`), payloadType)
	f.Add([]byte(`{"_type":"`+statementType+`","subject":[{"digest":{"sha256":"`+digits+`"}}],"predicateType":"other"}`), payloadType)
	f.Add([]byte(`{"_type":"x","subject":[{"digest":{"sha512":"`+digits+`"}},{}]}`), "application/json")
	f.Add([]byte(`{"_type":"`+statementType+`","subject":[{"digest":{"sha256":"\u001b[2J"}}],"predicateType":"`+PredicateType+`"}`), payloadType)
	f.Add([]byte(`{"_type":`+strings.Repeat("1", 5000)+`}`), payloadType)
	f.Fuzz(func(t *testing.T, payload []byte, kind string) {
		kind = strings.ToValidUTF8(kind, "") // as a bundle's JSON has it
		signature, err := key.sign(preAuth(payload))
		if err != nil {
			t.Fatal(err)
		}
		text, err := key.bundle(&bundlev1.Bundle{Content: &bundlev1.Bundle_DsseEnvelope{DsseEnvelope: &dssev1.Envelope{
			Payload: payload, PayloadType: kind, Signatures: []*dssev1.Signature{{Sig: signature}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseBundle(text)
		if err == nil {
			err = b.VerifyImage(key.Public(), "sha256:"+digits)
		}
		if err != nil {
			if len(err.Error()) > 2<<10 || strings.ContainsAny(err.Error(), "\x1b\u202e") {
				t.Errorf("the error has %d bytes: %q", len(err.Error()), err)
			}
			return
		}
		var s statement
		if err := json.Unmarshal(payload, &s); err != nil || kind != payloadType || s.Type != statementType || s.PredicateType != PredicateType || !strings.Contains(string(payload), digits) {
			t.Errorf("%q of type %q signs the image, %v", payload, kind, err)
		}
	})
}
