package bundle

import (
	"encoding/json"
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
