package signing

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	bundlev1 "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonv1 "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	dssev1 "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"google.golang.org/protobuf/encoding/protojson"
)

// Constants of the formats of bundles and statements.
const (
	MediaType     = "application/vnd.dev.sigstore.bundle.v0.3+json"
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	// PredicateType is the type of the statement that cosign signs about an image.
	PredicateType = "https://sigstore.dev/cosign/sign/v1"
)

// Suffix is the suffix of the file with a file's bundle.
const Suffix = ".sigstore.json"

// statement has the fields of an in-toto statement that Berth reads.
type statement struct {
	Type          string         `json:"_type"`
	Subject       []subject      `json:"subject"`
	PredicateType string         `json:"predicateType"`
	Predicate     map[string]any `json:"predicate"`
}

type subject struct {
	Digest map[string]string `json:"digest"`
}

// SignImage makes the bundle that signs an image. digest is the digest of its manifest, with
// "sha256:".
func SignImage(key *PrivateKey, digest string) ([]byte, error) {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	if !ok {
		return nil, fmt.Errorf("%q is not a SHA-256 digest", digest)
	}
	payload, err := json.Marshal(statement{
		Type: statementType, Subject: []subject{{Digest: map[string]string{"sha256": digits}}},
		PredicateType: PredicateType, Predicate: map[string]any{},
	})
	if err != nil {
		return nil, err
	}
	signature, err := key.sign(preAuth(payload))
	if err != nil {
		return nil, err
	}
	return key.bundle(&bundlev1.Bundle{Content: &bundlev1.Bundle_DsseEnvelope{DsseEnvelope: &dssev1.Envelope{
		Payload: payload, PayloadType: payloadType, Signatures: []*dssev1.Signature{{Sig: signature}},
	}}})
}

// SignFile makes the bundle that signs a file.
func SignFile(key *PrivateKey, data []byte) ([]byte, error) {
	signature, err := key.sign(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return key.bundle(&bundlev1.Bundle{Content: &bundlev1.Bundle_MessageSignature{MessageSignature: &commonv1.MessageSignature{
		MessageDigest: &commonv1.HashOutput{Algorithm: commonv1.HashAlgorithm_SHA2_256, Digest: sum[:]},
		Signature:     signature,
	}}})
}

// preAuth returns what is signed for the payload of a DSSE envelope
// (https://github.com/secure-systems-lab/dsse/blob/master/protocol.md). The library has this
// function in a package that depends on SSH.
func preAuth(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// bundle completes and encodes a bundle. protojson adds random spaces, to prevent users from
// relying on them; this removes them.
func (k *PrivateKey) bundle(b *bundlev1.Bundle) ([]byte, error) {
	b.MediaType = MediaType
	b.VerificationMaterial = &bundlev1.VerificationMaterial{Content: &bundlev1.VerificationMaterial_PublicKey{
		PublicKey: &commonv1.PublicKeyIdentifier{Hint: k.public.hint()},
	}}
	text, err := protojson.Marshal(b)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.Bytes(), err
}

// sign signs a message. For Ed25519 it uses the pure variant, because cosign verifies only this
// one for images.
func (k *PrivateKey) sign(message []byte) ([]byte, error) {
	if _, ok := k.signer.(ed25519.PrivateKey); ok {
		return k.signer.Sign(rand.Reader, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}
