package bundle

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
)

// pair writes a key and its public key in PEM.
func pair(t *testing.T, private, public any) (key, pub string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	key, pub = filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
	for path, b := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: der}, pub: {Type: "PUBLIC KEY", Bytes: spki}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key, pub
}

func newPair(t *testing.T, kind string) (key, pub string) {
	t.Helper()
	if kind == "ed25519" {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return pair(t, private, public)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pair(t, private, private.Public())
}

func TestSignature(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa"} {
		keyFile, pubFile := newPair(t, kind)
		_, otherFile := newPair(t, kind)
		key, err := ReadKey(keyFile)
		if err != nil {
			t.Fatal(err)
		}
		pub, err := ReadPublicKey(pubFile)
		if err != nil {
			t.Fatal(err)
		}
		other, err := ReadPublicKey(otherFile)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(t)
		m.key = key
		path := m.write(t)
		x, err := examine(path, pub)
		if err != nil || x.Trusted != pub.ID || x.Signatures != 1 {
			t.Fatalf("%s: %+v %v", kind, x, err)
		}
		if x, err = examine(path, nil); err != nil || x.Trusted != "" {
			t.Errorf("%s without a key: %v %v", kind, x, err)
		}
		_, err = examine(path, other)
		refused(t, kind+" with another key", err)
		_, err = examine(newModel(t).write(t), pub)
		refused(t, kind+" of an unsigned bundle", err)
		again := newModel(t)
		again.key = key
		first, _ := os.ReadFile(path)
		if second, _ := os.ReadFile(again.write(t)); string(first) != string(second) {
			t.Errorf("%s: signing again gave other bytes", kind)
		}
		// A statement that was changed, with its old signature.
		forged := newModel(t)
		forged.key = key
		forged.tamper = func(files map[string][]byte) {
			files[envelopeFile] = []byte(strings.Replace(string(files[envelopeFile]), `"sig": "`, `"sig": "AA`, 1))
		}
		_, err = examine(forged.write(t), pub)
		refused(t, kind+" with a forged signature", err)
	}
}

// TestSignatureIsOfAll signs one run and puts its envelope on another.
func TestSignatureIsOfAll(t *testing.T) {
	keyFile, pubFile := newPair(t, "ed25519")
	key, err := ReadKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ReadPublicKey(pubFile)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t)
	m.key = key
	m.write(t)
	signed := m.files[envelopeFile]
	other := newModel(t)
	other.files[planFile] = []byte("[]\n")
	other.tamper = func(files map[string][]byte) { files[envelopeFile] = signed }
	_, err = examine(other.write(t), pub)
	refused(t, "an envelope of another run", err)
}

// TestSigner tells signers apart by the key beside a signature, which must be its own.
func TestSigner(t *testing.T) {
	keyFile, pubFile := newPair(t, "ed25519")
	otherFile, _ := newPair(t, "ecdsa")
	key, err := ReadKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ReadKey(otherFile)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ReadPublicKey(pubFile)
	if err != nil {
		t.Fatal(err)
	}
	if x, err := examine(newModel(t).write(t), nil); err != nil || x.Signer != "" {
		t.Errorf("an unsigned bundle: %+v %v", x, err)
	}
	forge := func(edit func(*signature)) (*Examined, error) {
		t.Helper()
		m := newModel(t)
		m.key = key
		m.tamper = func(files map[string][]byte) {
			var e envelope
			err := parseForm(files[envelopeFile], &e, document)
			if err != nil {
				t.Fatal(err)
			}
			edit(&e.Signatures[0])
			if files[envelopeFile], err = document(e); err != nil {
				t.Fatal(err)
			}
		}
		return examine(m.write(t), nil)
	}
	if x, err := forge(func(*signature) {}); err != nil || x.Signer != pub.ID {
		t.Errorf("a signed bundle: %+v %v", x, err)
	}
	if x, err := forge(func(s *signature) { s.PublicKey = "" }); err != nil || x.Signer != "" {
		t.Errorf("without the key beside it: %+v %v", x, err)
	}
	foreign, err := x509.MarshalPKIXPublicKey(other.signer.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*signature){
		"another key": func(s *signature) { s.PublicKey = base64.StdEncoding.EncodeToString(foreign) },
		"another key with its id": func(s *signature) {
			s.PublicKey, s.KeyID = base64.StdEncoding.EncodeToString(foreign), digest.Of(foreign).String()
		},
		"the id of another key":    func(s *signature) { s.KeyID = digest.Of(foreign).String() },
		"a key that is none":       func(s *signature) { s.PublicKey = "AAAA" },
		"a key that is not base64": func(s *signature) { s.PublicKey = "*" },
		"another signature":        func(s *signature) { s.Sig = base64.StdEncoding.EncodeToString(make([]byte, 64)) },
	} {
		_, err := forge(edit)
		refused(t, name, err)
	}
}

func TestKeysRefused(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, pub := pair(t, private, private.Public())
	if _, err := ReadKey(key); err == nil || !strings.Contains(err.Error(), "openssl genpkey") {
		t.Errorf("RSA: %v", err)
	}
	if _, err := ReadPublicKey(pub); err == nil {
		t.Error("RSA is taken")
	}
	if _, err := ReadKey(pub); err == nil {
		t.Error("a public key is taken for a private one")
	}
	if _, err := ReadPublicKey(key); err == nil {
		t.Error("a private key is taken for a public one")
	}
}

// TestEnvelopeText compares what is signed with the example of the DSSE
// specification (secure-systems-lab/dsse, protocol.md): the payload "hello
// world" of type "http://example.com/HelloWorld" gives
// "DSSEv1 29 http://example.com/HelloWorld 11 hello world". Our type is fixed,
// so the lengths are those of ours.
func TestEnvelopeText(t *testing.T) {
	want := "DSSEv1 28 application/vnd.in-toto+json 11 hello world"
	if got := string(preAuthentication([]byte("hello world"))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
