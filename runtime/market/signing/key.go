// Package signing signs and verifies plugins with keys, without a network, in the formats of
// cosign: a Sigstore bundle v0.3 with an in-toto statement about an image, or with the
// signature of a file. It ignores what a bundle says about its signer: only verification with a
// key counts.
package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// The signature algorithms.
const (
	ECDSA   = "ecdsa-p256"
	Ed25519 = "ed25519"
)

// The types of PEM blocks. cosign reads and writes the encrypted ones.
const (
	pemPublic    = "PUBLIC KEY"
	pemEncrypted = "ENCRYPTED SIGSTORE PRIVATE KEY"
	pemCosign    = "ENCRYPTED COSIGN PRIVATE KEY" // of cosign 1
)

// MaxKey is the maximum size of a key's file, in bytes.
const MaxKey = 16 << 10

// PublicKey verifies signatures: ECDSA on P-256 with SHA-256, or Ed25519.
type PublicKey struct {
	key crypto.PublicKey
	der []byte
}

// ParsePublicKey parses a PEM key, as keygen and cosign write it.
func ParsePublicKey(text []byte) (*PublicKey, error) {
	if len(text) > MaxKey {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxKey)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemPublic {
		return nil, errors.New("it is not a public key in PEM: name the file NAME.pub that berth plugin keygen or cosign made")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	return newPublicKey(key)
}

func newPublicKey(key crypto.PublicKey) (*PublicKey, error) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return nil, fmt.Errorf("the key is on the curve %s: use P-256 or Ed25519", k.Params().Name)
		}
	case ed25519.PublicKey:
		if isLowOrder(k) {
			return nil, errors.New("anybody can sign with this Ed25519 key, because its point has a low order: " +
				"make another one with berth plugin keygen")
		}
	default:
		return nil, fmt.Errorf("the key is a %T: use ECDSA on P-256, or Ed25519", key)
	}
	// Encoded again, so that a key has the same ID whatever encoding it was read from.
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	return &PublicKey{key: key, der: der}, nil
}

// isLowOrder reports whether a key is one of the eight points whose order divides 8, in any encoding: for such a key, signatures of
// most messages can be made without a private key (RFC 8032 does not exclude them).
func isLowOrder(key ed25519.PublicKey) bool {
	y := hex.EncodeToString(append(bytes.Clone(key[:len(key)-1]), key[len(key)-1]&0x7f)) // without the sign of x
	return slices.Contains([]string{
		"01" + strings.Repeat("00", 31), "ee" + strings.Repeat("ff", 30) + "7f", // order 1
		"ec" + strings.Repeat("ff", 30) + "7f",                           // order 2
		strings.Repeat("00", 32), "ed" + strings.Repeat("ff", 30) + "7f", // order 4
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", // order 8, like the next
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	}, y)
}

// ID identifies the key: "sha256:" and the hexadecimal digest of its PKIX form.
func (k *PublicKey) ID() string {
	sum := sha256.Sum256(k.der)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hint is what cosign writes to a bundle to identify a key.
func (k *PublicKey) hint() string {
	sum := sha256.Sum256(k.der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// PEM returns the key in the form that ParsePublicKey reads.
func (k *PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: k.der})
}

// PrivateKey makes signatures.
type PrivateKey struct {
	signer crypto.Signer
	public *PublicKey
}

// Generate generates a key.
func Generate(algorithm string) (*PrivateKey, error) {
	switch algorithm {
	case ECDSA:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return newPrivateKey(key)
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		return newPrivateKey(key)
	}
	return nil, fmt.Errorf("%q is not an algorithm: write %s or %s", algorithm, ECDSA, Ed25519)
}

func newPrivateKey(key any) (*PrivateKey, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T cannot sign", key)
	}
	public, err := newPublicKey(signer.Public())
	if err != nil {
		return nil, err
	}
	return &PrivateKey{signer: signer, public: public}, nil
}

// Public returns the public key.
func (k *PrivateKey) Public() *PublicKey { return k.public }

// PEM returns the key, encrypted with a password, in cosign's form.
func (k *PrivateKey) PEM(password []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.signer)
	if err != nil {
		return nil, err
	}
	sealed, err := encrypted.Encrypt(der, password)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemEncrypted, Bytes: sealed}), nil
}

// ParsePrivateKey parses a key of keygen or cosign. It calls password for the key's password.
func ParsePrivateKey(text []byte, password func() ([]byte, error)) (*PrivateKey, error) {
	if len(text) > MaxKey {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxKey)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemEncrypted && block.Type != pemCosign {
		return nil, errors.New("it is not an encrypted private key: name the file NAME.key that berth plugin keygen or cosign made")
	}
	secret, err := password()
	if err != nil {
		return nil, err
	}
	der, err := encrypted.Decrypt(block.Bytes, secret)
	if err != nil {
		return nil, fmt.Errorf("the private key cannot be decrypted: %w: is the password right?", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("the private key: %w", err)
	}
	return newPrivateKey(key)
}
