package bundle

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/mleflow/mleflow/cache/digest"
)

// envelopeType is the media type of a signed statement.
const envelopeType = "application/vnd.dsse.envelope.v1+json"

// envelope is a DSSE envelope; see https://github.com/secure-systems-lab/dsse.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
	// PublicKey is the key in its DER form, so that a reader without it can distinguish
	// two signers. It does not identify its holder.
	PublicKey string `json:"public_key,omitempty"`
}

// preAuthentication returns the signed bytes: the payload with its type, each with its
// length.
func preAuthentication(payload []byte) []byte {
	head := "DSSEv1 " + strconv.Itoa(len(statementType)) + " " + statementType + " " + strconv.Itoa(len(payload)) + " "
	return append([]byte(head), payload...)
}

// Key is a signing key.
type Key struct{ signer crypto.Signer }

// PublicKey is a key that verifies.
type PublicKey struct {
	key any
	// ID is the SHA-256 of the key in its DER form.
	ID string
}

// errKeyForm names the accepted forms of keys.
var errKeyForm = errors.New("it is not an Ed25519 or ECDSA P-256 key in PEM, as openssl genpkey -algorithm ed25519 makes them")

// ReadKey reads a private key in PKCS #8 PEM.
func ReadKey(path string) (*Key, error) {
	der, err := readPEM(path, "PRIVATE KEY")
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", path, errKeyForm)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok || checkKind(signer.Public()) != nil {
		return nil, fmt.Errorf("read key %s: %w", path, errKeyForm)
	}
	return &Key{signer}, nil
}

// ReadPublicKey reads a public key in PEM, as openssl pkey -pubout writes it.
func ReadPublicKey(path string) (*PublicKey, error) {
	der, err := readPEM(path, "PUBLIC KEY")
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	key, err := parsePublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("read public key %s: %w", path, err)
	}
	return key, nil
}

func parsePublicKey(der []byte) (*PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil || checkKind(key) != nil {
		return nil, errKeyForm
	}
	return &PublicKey{key, digest.Of(der).String()}, nil
}

func readPEM(path, kind string) ([]byte, error) {
	f, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		var b *pem.Block
		if b, f = pem.Decode(f); b == nil {
			return nil, fmt.Errorf("%s holds no %s: %w", path, kind, errKeyForm)
		}
		if b.Type == kind {
			return b.Bytes, nil
		}
	}
}

func checkKind(key any) error {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return nil
		}
	}
	return errKeyForm
}

// sign returns the envelope of a statement. The same statement and key give the
// same bytes: an ECDSA signature is made as RFC 6979 says.
func (k *Key) sign(statement []byte) (envelope, error) {
	der, err := x509.MarshalPKIXPublicKey(k.signer.Public())
	if err != nil {
		return envelope{}, fmt.Errorf("sign provenance: %w", err)
	}
	text := preAuthentication(statement)
	var opts crypto.SignerOpts = crypto.Hash(0)
	if _, ok := k.signer.(*ecdsa.PrivateKey); ok {
		sum := sha256.Sum256(text)
		text, opts = sum[:], crypto.SHA256
	}
	sig, err := k.signer.Sign(nil, text, opts)
	if err != nil {
		return envelope{}, fmt.Errorf("sign provenance: %w", err)
	}
	return envelope{
		PayloadType: statementType, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []signature{{digest.Of(der).String(), base64.StdEncoding.EncodeToString(sig), base64.StdEncoding.EncodeToString(der)}},
	}, nil
}

// verify reports whether the signature over a statement is the key's.
func (k *PublicKey) verify(statement, sig []byte) bool {
	text := preAuthentication(statement)
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, text, sig)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(text)
		return ecdsa.VerifyASN1(key, sum[:], sig)
	}
	return false
}

// checkEnvelope checks that an envelope is of the statement, and with a key
// that this signed it. It returns the number of signatures, and the id of the key of
// the first one if that key is in the envelope.
func checkEnvelope(text, statement []byte, key *PublicKey) (n int, signer string, err error) {
	e, err := readDocument[envelope](text)
	if err != nil {
		return 0, "", err
	}
	payload, err := base64.StdEncoding.Strict().DecodeString(e.Payload)
	if err != nil || e.PayloadType != statementType || string(payload) != string(statement) {
		return 0, "", fmt.Errorf("it does not sign %s", statementFile)
	}
	good := false
	for i, s := range e.Signatures {
		sig, err := base64.StdEncoding.Strict().DecodeString(s.Sig)
		if err != nil {
			return 0, "", fmt.Errorf("its signature is not base64")
		}
		good = good || key != nil && s.KeyID == key.ID && key.verify(statement, sig)
		if s.PublicKey == "" {
			continue
		}
		der, err := base64.StdEncoding.Strict().DecodeString(s.PublicKey)
		if err != nil {
			return 0, "", fmt.Errorf("its public key is not base64")
		}
		own, err := parsePublicKey(der)
		if err != nil || own.ID != s.KeyID || !own.verify(statement, sig) {
			return 0, "", fmt.Errorf("its signature is not one by the public key beside it")
		}
		if i == 0 {
			signer = own.ID
		}
	}
	if key != nil && !good {
		return 0, "", fmt.Errorf("it has no signature by the key %s", key.ID)
	}
	return len(e.Signatures), signer, nil
}
