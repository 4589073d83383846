package step

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Observation says that results of a kind are observations, which cannot be computed
// again: what an agent did, or what a paid model answered. A newer version of the program
// is no reason to repeat one. Of a kind that does not always vary, this is about those of
// its steps that do; see Varying.
type Observation struct {
	// Names are the labels of the fields that name what was observed, such as agent,
	// competition and seed.
	Names []string
	// Earlier are the older versions of the kind whose results stay valid.
	Earlier []Earlier
	// Program, if set, reports whether a field of a key is about what the program itself
	// gives, such as its own texts. Results stay valid if only such fields differ.
	Program func(label string) bool
	// Cost returns what a result cost in US dollars, or nil if that is not known.
	Cost func(cache.Outputs) *float64
}

// Earlier is an older version of a kind.
type Earlier struct {
	Version string
	// Lacks are the labels of the fields of today's keys that its keys did not have.
	// What they say was not recorded then.
	Lacks []string
}

// kindVersion is the label of the version in a key.
const kindVersion = "kind version"

// Observes reports whether a step's result is an observation.
func (k *Kind) Observes(s Step) bool { return k.Observation != nil && (k.Varies || Varies(s)) }

// Reads reports whether results of a version of the kind are valid in this one.
func (k *Kind) Reads(version string) bool { return version == k.Version || k.earlier(version) != nil }

func (k *Kind) earlier(version string) *Earlier {
	if k.Observation == nil {
		return nil
	}
	return find(k.Observation.Earlier, func(e *Earlier) bool { return e.Version == version })
}

// ByProgram reports whether a field of a key is about what the program gives to what is
// observed; see Observation.Program.
func (k *Kind) ByProgram(label string) bool {
	return k.Observation != nil && k.Observation.Program != nil && k.Observation.Program(label)
}

// As returns a key's fields as an older version of the kind had them, and the labels that
// it lacked. It returns the same fields unless results of the version stay valid.
func (k *Kind) As(version string, fields []digest.Field) (then []digest.Field, lacked []string) {
	e := k.earlier(version)
	if e == nil {
		return fields, nil
	}
	for _, f := range fields {
		switch {
		case f.Label == kindVersion:
			f.Value = version
		case slices.Contains(e.Lacks, f.Label):
			lacked = append(lacked, f.Label)
			continue
		}
		then = append(then, f)
	}
	return then, lacked
}

// Authored is implemented by steps whose own fields may come from what a person wrote
// outside the pipeline, such as the definition of a competition. Authored returns the
// labels of those that do.
type Authored interface{ Authored() []string }

// Written reports whether a field of a step's key comes from what a person wrote. Others
// come from the program, the machine, or what the step consumes.
func (k *Kind) Written(s Step, label string) bool {
	if slices.Contains(ask(s, Authored.Authored), label) {
		return true
	}
	if k.ByProgram(label) {
		return false
	}
	label = strings.TrimPrefix(label, "length of ")
	name := label
	if at := strings.IndexAny(label, ".[ "); at >= 0 {
		name = label[:at]
	}
	return AttrOf(k.Args, name) != nil || k.Block(name) != nil || k.LimitsInKey && (name == "timeout" || name == "resources")
}
