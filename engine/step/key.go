package step

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Key hashes everything that determines an instance's bytes: the kind, its
// arguments, the step's own fields, and the conditions. Every artifact in the
// arguments must be known. A null argument is not hashed, so that a new
// optional argument of a kind does not change existing keys. If the step cannot
// provide its fields, the hasher has the other fields, and the error describes
// the missing ones.
func Key(k *Kind, args Args, s Step) (*digest.Hasher, error) {
	h := digest.NewHasher(k.Name, k.Version)
	if err := hashAttrs(h, "", k.Args, args.Get); err != nil {
		return nil, err
	}
	for _, b := range k.Blocks {
		v := args.Get(b.Name)
		if v.IsNull() {
			continue
		}
		if err := hashAttrs(h, b.Name+".", b.Args, v.GetAttr); err != nil {
			return nil, err
		}
	}
	if k.LimitsInKey {
		hashLimits(h, args.Limits)
	}
	var err error
	if f, ok := s.(Fingerprinter); ok {
		if err = f.Fingerprint(h); err != nil {
			err = fmt.Errorf("fingerprint step: %w", err)
		}
	}
	hashConditions(h, Conditions(args, s))
	return h, err
}

func hashAttrs(h *digest.Hasher, prefix string, attrs []Attr, get func(name string) cty.Value) error {
	for i := range attrs {
		a := &attrs[i]
		if a.Cosmetic {
			continue
		}
		v := get(a.Name)
		if v.IsNull() {
			continue
		}
		if err := hashValue(h, prefix+a.Name, v, a.Type == cty.String); err != nil {
			return err
		}
	}
	return nil
}

func hashLimits(h *digest.Hasher, l Limits) {
	h.String("timeout", l.Timeout.String())
	h.String("resources.cpus", strconv.FormatFloat(l.CPUs, 'g', -1, 64))
	h.Int("resources.memory", l.MemoryBytes)
	h.Int("resources.gpus", int64(l.GPUs))
	if l.DiskBytes > 0 {
		h.Int("resources.disk", l.DiskBytes)
	}
}

// hashValue adds v under label: a collection with content as one field per
// element, any other value as one field. plain is true if the schema declares a
// string, which then needs no quotes. A reference to a secret adds nothing,
// because its location does not affect results.
func hashValue(h *digest.Hasher, label string, v cty.Value, plain bool) error {
	ty := v.Type()
	switch {
	case v.IsNull():
		h.String(label, "null")
	case ty == ArtifactType:
		a := v.EncapsulatedValue().(*Artifact)
		if a.Ref.IsZero() {
			return fmt.Errorf("output %q of %s is not known", a.Output, a.From)
		}
		h.String(label, a.Ref.ID.String())
		if a.Local != nil && a.Local.Executable() {
			h.Bool(label+" executable", true)
		}
	case ty == SecretRefType:
	case plain:
		h.String(label, v.AsString())
	case HoldsContent(ty):
		return hashElements(h, label, v)
	default:
		text, err := marshal(v)
		if err != nil {
			return fmt.Errorf("argument %s: %w", label, err)
		}
		h.String(label, string(text))
	}
	return nil
}

// marshal encodes a value as JSON, with the same result as ctyjson.Marshal.
// Booleans, lists and maps of strings take a faster path.
func marshal(v cty.Value) ([]byte, error) {
	ty := v.Type()
	var list []string
	var all map[string]string
	switch {
	case ty == cty.Bool && v.IsKnown() && !v.IsNull():
		return strconv.AppendBool(nil, v.True()), nil
	case ty == cty.List(cty.String) && plainly(v, &list):
		return json.Marshal(list)
	case ty == cty.Map(cty.String) && plainly(v, &all):
		return json.Marshal(all)
	}
	return ctyjson.Marshal(v, ty)
}

// late are attributes of objects that were added after keys had become stable.
// If one is null or an empty string, the key stays as before. unhashed are attributes that do not
// affect results.
var (
	late     = map[string]bool{"python": true, "record_tokens": true}
	unhashed = map[string]bool{"venv": true, "secrets_in": true}
)

// hashed reports whether an attribute of an object is part of the key.
func hashed(name string, v cty.Value) bool {
	return !unhashed[name] && !(late[name] && (v.IsNull() || v.RawEquals(cty.StringVal(""))))
}

func hashElements(h *digest.Hasher, label string, v cty.Value) error {
	ty := v.Type()
	n := v.LengthInt()
	if ty.IsObjectType() {
		for name := range ty.AttributeTypes() {
			if !hashed(name, v.GetAttr(name)) {
				n--
			}
		}
	}
	h.Int("length of "+label, int64(n))
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		if ty.IsObjectType() && !hashed(key.AsString(), elem) {
			continue
		}
		var at string
		switch {
		case ty.IsObjectType():
			at = label + "." + key.AsString()
		case ty.IsMapType():
			at = label + "[" + strconv.Quote(key.AsString()) + "]"
		case ty.IsSetType():
			return fmt.Errorf("argument %s: a set cannot hold content; use a list or map", label)
		default:
			at = label + "[" + key.AsBigFloat().Text('f', 0) + "]"
		}
		if err := hashValue(h, at, elem, false); err != nil {
			return err
		}
	}
	return nil
}

// HoldsContent reports whether values of a type are or contain content.
func HoldsContent(ty cty.Type) bool {
	switch {
	case ty == ArtifactType:
		return true
	case ty.IsCollectionType():
		return HoldsContent(ty.ElementType())
	case ty.IsTupleType():
		if slices.ContainsFunc(ty.TupleElementTypes(), HoldsContent) {
			return true
		}
	case ty.IsObjectType():
		for _, e := range ty.AttributeTypes() {
			if HoldsContent(e) {
				return true
			}
		}
	}
	return false
}

// Conditioned is implemented by steps whose results depend on conditions that
// every reader of a result must see, such as the isolation of an agent or the
// task it was given. A condition is "key=value" without spaces or commas, the key in
// lower case. Conditions is pure and fast: plan calls it.
//
// Conditions travel with content. The outputs of a step have its own conditions
// and those of everything that it consumed, no matter what its kind is. They
// are fields of its key, so they appear in its record, in locks and in bundles.
type Conditioned interface{ Conditions() []string }

// ConditionLabel is the prefix of labels of conditions in a key.
const ConditionLabel = "condition."

// Conditions returns the conditions of the outputs of s with these arguments.
func Conditions(args Args, s Step) []string {
	c, ok := s.(Conditioned)
	if !ok {
		return args.Conditions
	}
	return UnionConditions(args.Conditions, c.Conditions())
}

// UnionConditions returns the sorted union of the sets, or nil if it is empty.
func UnionConditions(sets ...[]string) []string {
	all := slices.Concat(sets...)
	slices.Sort(all)
	return slices.Compact(all)
}

// ConditionValues returns the sorted values for a key in a set of conditions.
// There may be several if results were combined.
func ConditionValues(set []string, key string) []string {
	var values []string
	for _, c := range set {
		if k, v, _ := strings.Cut(c, "="); k == key {
			values = append(values, v)
		}
	}
	return values
}

// hashConditions adds one field per key of the conditions. Without conditions
// it adds nothing.
func hashConditions(h *digest.Hasher, set []string) {
	by := map[string][]string{}
	for _, c := range set {
		k, v, _ := strings.Cut(c, "=")
		by[k] = append(by[k], v)
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		h.String(ConditionLabel+k, strings.Join(by[k], ", "))
	}
}

// The keys of conditions that follow from the tries at an action: the number of
// results up to this one, the cause why the result is not final, the models of the
// GPUs, how often the attempt went on from a checkpoint, the outputs that a secret was
// found in, and how people steered the attempt while it ran.
const (
	Tries       = "tries"
	Provisional = "provisional"
	GPU         = "gpu"
	Resumes     = "resumes"
	SecretIn    = "secret_in"
	Steered     = "steered"
)

// TriesConditions returns the conditions that follow from the tries at an
// action.
func TriesConditions(t cache.Tries) (set []string) {
	if n := t.Count(); n > 1 {
		set = append(set, Tries+"="+strconv.Itoa(n))
	}
	if t.Provisional != "" {
		set = append(set, Provisional+"="+t.Provisional)
	}
	if t.GPU != "" {
		set = append(set, GPU+"="+t.GPU)
	}
	if t.Resumes > 0 {
		set = append(set, Resumes+"="+strconv.Itoa(t.Resumes))
	}
	for output := range strings.FieldsSeq(t.SecretIn) {
		set = append(set, SecretIn+"="+output)
	}
	for word := range strings.FieldsSeq(t.Steered) {
		set = append(set, Steered+"="+word)
	}
	return set
}

// RecordedConditions returns the conditions in the fields of a key and those
// that follow from the tries at it.
func RecordedConditions(fields []digest.Field, t cache.Tries) []string {
	set := TriesConditions(t)
	for _, f := range fields {
		if k, ok := strings.CutPrefix(f.Label, ConditionLabel); ok {
			for v := range strings.SplitSeq(f.Value, ", ") {
				set = append(set, k+"="+v)
			}
		}
	}
	return UnionConditions(set)
}

// IsCondition reports whether a label in a key belongs to a condition.
func IsCondition(label string) bool { return strings.HasPrefix(label, ConditionLabel) }

// Pinned returns the fields of a key that a lock pins. It excludes the conditions that
// follow from tries, which differ for everyone who applies the lock.
func Pinned(fields []digest.Field) []digest.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f digest.Field) bool {
		key, ok := strings.CutPrefix(f.Label, ConditionLabel)
		return ok && (key == Tries || key == Provisional || key == GPU || key == Resumes || key == SecretIn || key == Steered)
	})
}
