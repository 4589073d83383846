package bundle

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// The types of in-toto and SLSA that the provenance has.
const (
	statementType = "application/vnd.in-toto+json"
	statementURI  = "https://in-toto.io/Statement/v1"
	predicateURI  = "https://slsa.dev/provenance/v1"
	buildURI      = "https://github.com/mleflow/mleflow/blob/main/docs/verify.md#provenance-v1"
	builderURI    = "https://github.com/mleflow/mleflow/blob/main/docs/verify.md#local-builder"
)

// statement is an in-toto statement, version 1, with SLSA provenance, version 1.
// See https://github.com/in-toto/attestation/tree/main/spec/v1 and
// https://slsa.dev/spec/v1.0/provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// resource is a resource descriptor of in-toto.
type resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// provenance is the predicate.
type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

// buildDefinition describes the inputs.
type buildDefinition struct {
	BuildType            string         `json:"buildType"`
	ExternalParameters   parameters     `json:"externalParameters"`
	InternalParameters   map[string]any `json:"internalParameters"`
	ResolvedDependencies []resource     `json:"resolvedDependencies"`
}

// parameters are the user's inputs: the pipeline and its variables. The values of
// variables are strings.
type parameters struct {
	Pipeline  resource       `json:"pipeline"`
	Variables map[string]any `json:"variables"`
}

// runDetails name the builder and the times of the run.
type runDetails struct {
	Builder  builder  `json:"builder"`
	Metadata metadata `json:"metadata"`
}

// builder is the program on some machine. Only the signer vouches for it.
type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version"`
}

// metadata names the run.
type metadata struct {
	InvocationID string `json:"invocationId"`
	StartedOn    string `json:"startedOn"`
	FinishedOn   string `json:"finishedOn,omitempty"`
}

// statement makes the statement of a bundle with the given list of contents.
func (a account) statement(contents []byte) statement {
	variables := map[string]any{}
	for name, v := range a.Run.Variables {
		variables[name] = v
	}
	s := statement{Type: statementURI, PredicateType: predicateURI, Subject: a.subjects(contents)}
	s.Predicate.BuildDefinition = buildDefinition{
		BuildType: buildURI,
		ExternalParameters: parameters{
			Pipeline:  resource{Name: a.Run.Pipeline, Digest: sha(a.Run.Text.String())},
			Variables: variables,
		},
		InternalParameters: map[string]any{
			"os": a.environment.OS, "cpus": a.environment.CPUs, "memoryBytes": a.environment.MemoryBytes, "gpus": a.environment.GPUs,
		},
		ResolvedDependencies: a.dependencies(),
	}
	s.Predicate.RunDetails = runDetails{
		Builder:  builder{ID: builderURI, Version: map[string]string{"mleflow": a.Run.Version}},
		Metadata: metadata{InvocationID: a.Run.ID, StartedOn: stamp(a.Run.Started), FinishedOn: stamp(a.Run.Last)},
	}
	return s
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func sha(hex string) map[string]string { return map[string]string{"sha256": hex} }

// subjects returns the leaderboards and reports, and the list of contents, which stands
// for everything else in the bundle.
func (a account) subjects(contents []byte) []resource {
	list := []resource{{Name: "contents", Digest: sha(digest.Of(contents).String())}}
	for _, r := range a.records {
		for _, name := range published[r.Kind] {
			if id := r.Outputs[name].Digest; id != nil {
				list = append(list, resource{Name: r.Address + " " + name, Digest: sha(id.String())})
			}
		}
	}
	sortResources(list[1:])
	return list
}

// dependencies returns the raw data, the images, the definitions and the program.
func (a account) dependencies() []resource {
	var list []resource
	for _, r := range a.records {
		var fetched []struct{ Name, SHA256, MD5 string }
		if r.Kind == conditions.DownloadKind && json.Unmarshal(r.Outputs["files"].Value, &fetched) != nil {
			fetched = nil
		}
		for _, f := range fetched {
			d := sha(f.SHA256)
			if f.MD5 != "" {
				d["md5"] = f.MD5
			}
			list = append(list, resource{Name: "raw data: " + r.field("competition") + "/" + f.Name, Digest: d})
		}
		if id := r.Outputs["tree"].Digest; r.Kind == conditions.DownloadKind && id != nil {
			list = append(list, resource{Name: "raw data: " + r.field("competition"), Digest: map[string]string{"mleflowTree": id.String()}})
		}
		if image := strings.TrimPrefix(r.field("image digest"), "sha256:"); image != "" {
			list = append(list, resource{Name: "agent image: " + attemptOf(r).Agent, Digest: sha(image)})
		}
	}
	for _, d := range a.definitions() {
		list = append(list, resource{Name: "definition: " + d.Competition + " " + d.Version + " for " + d.Kind, Digest: sha(d.Digest)})
	}
	sortResources(list)
	list = slices.CompactFunc(list, func(a, b resource) bool { return resourceKey(a) == resourceKey(b) })
	return append(list, a.program())
}

// program is the binary that executed the run.
func (a account) program() resource {
	p := resource{Name: "mleflow", URI: "pkg:golang/github.com/mleflow/mleflow@" + a.Run.Version, Digest: map[string]string{}}
	if id := a.environment.Facts["binary sha256"]; id != "" {
		p.Digest["sha256"] = id
	}
	if commit := a.environment.Facts["commit"]; commit != "" && a.environment.Facts["modified"] == "" {
		p.Digest["gitCommit"] = commit
	}
	return p
}

func resourceKey(r resource) string {
	return r.Name + "\x00" + r.Digest["sha256"] + r.Digest["mleflowTree"]
}

func sortResources(list []resource) {
	slices.SortFunc(list, func(a, b resource) int { return strings.Compare(resourceKey(a), resourceKey(b)) })
}

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
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(statementType), statementType, len(payload)), payload...)
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
	parsed, _ := x509.ParsePKCS8PrivateKey(der) // nil is no signer
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
	var e envelope
	if err := parseForm(text, &e, document); err != nil {
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
