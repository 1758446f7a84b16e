package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	bundlev1 "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonv1 "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/internal/plain"
)

// MaxBundle is the maximum size of a bundle in bytes, maxSubjects the maximum number of images
// in one statement.
const (
	MaxBundle   = 256 << 10
	maxSubjects = 64
)

// Bundle is a parsed signature that is not verified yet.
type Bundle struct {
	message   *commonv1.MessageSignature // for a file
	payload   []byte                     // for a statement about images
	signature []byte
}

// ParseBundle parses a Sigstore bundle v0.3 that was made with a key.
func ParseBundle(text []byte) (*Bundle, error) {
	if len(text) > MaxBundle {
		return nil, fmt.Errorf("the bundle has %d bytes, at most %d are allowed", len(text), MaxBundle)
	}
	var b bundlev1.Bundle
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 50}).Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("the bundle: %s", plain.Line(err.Error(), 256))
	}
	if b.GetMediaType() != MediaType {
		return nil, fmt.Errorf("the bundle is of type %s, not %s", plain.Quote(b.GetMediaType(), 80), MediaType)
	}
	if b.GetVerificationMaterial().GetPublicKey() == nil {
		return nil, errors.New("the bundle is signed with a certificate: Berth verifies keys, so sign it with --key")
	}
	if m := b.GetMessageSignature(); m != nil {
		return &Bundle{message: m, signature: m.GetSignature()}, nil
	}
	envelope := b.GetDsseEnvelope()
	switch {
	case envelope == nil:
		return nil, errors.New("the bundle has neither a message's signature nor a DSSE envelope")
	case len(envelope.GetSignatures()) != 1:
		return nil, fmt.Errorf("the bundle has %d signatures, not one", len(envelope.GetSignatures()))
	case envelope.GetPayloadType() != payloadType:
		return nil, fmt.Errorf("the bundle's payload is of type %s, not %s", plain.Quote(envelope.GetPayloadType(), 80), payloadType)
	}
	return &Bundle{payload: envelope.GetPayload(), signature: envelope.GetSignatures()[0].GetSig()}, nil
}

// ErrOtherKey is returned for a signature of another key.
var ErrOtherKey = errors.New("the signature is not by this key")

// VerifyImage verifies the bundle with a key and the digest of an image's manifest.
func (b *Bundle) VerifyImage(key *PublicKey, digest string) error {
	if b.payload == nil {
		return errors.New("the bundle signs a file, not an image")
	}
	if !key.verify(preAuth(b.payload), b.signature) {
		return ErrOtherKey
	}
	s, err := readStatement(b.payload)
	if err != nil {
		return fmt.Errorf("the signed statement: %s", plain.Line(err.Error(), 256))
	}
	switch {
	case s.Type != statementType:
		return fmt.Errorf("the signed statement is of type %s, not %s", plain.Quote(s.Type, 80), statementType)
	case s.PredicateType != PredicateType:
		return fmt.Errorf("the signed statement says %s of the image, not that it was signed (%s)", plain.Quote(s.PredicateType, 80), PredicateType)
	case len(s.Subject) > maxSubjects:
		return fmt.Errorf("the signed statement is about %d images, at most %d are allowed", len(s.Subject), maxSubjects)
	}
	want := strings.TrimPrefix(digest, "sha256:")
	var others []string
	for _, about := range s.Subject {
		got := about.Digest["sha256"]
		if got == want {
			return nil
		}
		others = append(others, "sha256:"+plain.Line(got, 64))
	}
	return fmt.Errorf("the signed statement is about another image: %s", plain.List(others, ", ", 256, "images"))
}

// readStatement reads a signed statement. To some readers a field that appears twice, or in another case, means something else than to
// others. So such a statement is refused.
func readStatement(payload []byte) (*statement, error) {
	value, err := schema.Parse(payload)
	if err != nil {
		return nil, err
	}
	top, _ := value.(map[string]any)
	objects := []any{top}
	list, _ := top["subject"].([]any)
	for _, about := range list {
		about, _ := about.(map[string]any)
		objects = append(objects, about, about["digest"])
	}
	for _, o := range objects {
		fields, _ := o.(map[string]any)
		for name := range fields {
			for _, known := range []string{"_type", "subject", "predicateType", "predicate", "digest", "sha256"} {
				if name != known && strings.EqualFold(name, known) {
					return nil, fmt.Errorf("it has the field %s, not %s", plain.Quote(name, 64), known)
				}
			}
		}
	}
	var s statement
	return &s, json.Unmarshal(payload, &s)
}

// VerifyFile verifies the bundle with a key and a file's bytes.
func (b *Bundle) VerifyFile(key *PublicKey, data []byte) error {
	if b.message == nil {
		return errors.New("the bundle signs an image, not a file")
	}
	if d := b.message.GetMessageDigest(); len(d.GetDigest()) > 0 {
		sum := sha256.Sum256(data)
		if d.GetAlgorithm() == commonv1.HashAlgorithm_SHA2_256 && !bytes.Equal(d.GetDigest(), sum[:]) {
			return fmt.Errorf("the bundle signs another file, with the digest sha256:%x", d.GetDigest()[:min(len(d.GetDigest()), sha256.Size)])
		}
	}
	if !key.verify(data, b.signature) {
		return ErrOtherKey
	}
	return nil
}

// verify reports whether the key made a signature of a message. An Ed25519 key may have signed
// the message, or its SHA-512 as Ed25519ph, which is how cosign signs images. A signature of
// one kind is not valid as the other.
func (k *PublicKey) verify(message, signature []byte) bool {
	switch key := k.key.(type) {
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(key, sum[:], signature)
	case ed25519.PublicKey:
		sum := sha512.Sum512(message)
		return len(signature) == ed25519.SignatureSize && (ed25519.Verify(key, message, signature) ||
			ed25519.VerifyWithOptions(key, sum[:], signature, &ed25519.Options{Hash: crypto.SHA512}) == nil)
	}
	return false
}
