// Package addr names the parts of a pipeline: step blocks and their
// instances. Addresses are what people type at -target and read in plans:
//
//	step.grade.score                          a block
//	step.grade.score["leaf-classification/0"] one of its instances
//	step.grade.common.score                   a block of the module "common"
//
// Values are comparable and order as text; the zero value is not an address.
package addr

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Step is the address of a step block: step.<Kind>.<Name>. The name of one in a module
// starts with that of the module and a dot.
type Step struct{ Kind, Name string }

// String returns the address as written in HCL.
func (s Step) String() string { return "step." + s.Kind + "." + s.Name }

// IsZero reports whether s is the zero value.
func (s Step) IsZero() bool { return s == Step{} }

// Instance is the address of one instance of a step block. A block without
// for_each has one instance, which has no key.
type Instance struct {
	Step   Step
	Key    string
	HasKey bool
}

// Single returns the address of the only instance of a block without for_each.
func Single(s Step) Instance { return Instance{Step: s} }

// Keyed returns the address of the instance of s with the given key.
func Keyed(s Step, key string) Instance { return Instance{Step: s, Key: key, HasKey: true} }

// String returns the address as written in HCL.
func (i Instance) String() string {
	if !i.HasKey {
		return i.Step.String()
	}
	return i.Step.String() + "[" + strconv.Quote(i.Key) + "]"
}

// Compare orders addresses by kind, name and key.
func (i Instance) Compare(j Instance) int {
	return cmp.Or(strings.Compare(i.Step.Kind, j.Step.Kind), strings.Compare(i.Step.Name, j.Step.Name), strings.Compare(i.Key, j.Key))
}

// Parse reads an address in the form of String. It also accepts the address of
// a block and returns it without a key.
func Parse(s string) (Instance, error) {
	s = cty.NormalizeString(s)
	head, key, hasKey := strings.Cut(s, "[")
	parts := strings.Split(head, ".")
	if len(parts) < 3 || parts[0] != "step" || slices.Contains(parts, "") {
		return Instance{}, fmt.Errorf("parse address %q: want step.KIND.NAME or step.KIND.NAME[\"KEY\"]", s)
	}
	i := Instance{Step: Step{Kind: parts[1], Name: strings.Join(parts[2:], ".")}}
	if !hasKey {
		return i, nil
	}
	quoted, ok := strings.CutSuffix(key, "]")
	if !ok {
		return Instance{}, fmt.Errorf("parse address %q: the key's closing bracket is missing", s)
	}
	unquoted, err := strconv.Unquote(quoted)
	if err != nil {
		return Instance{}, fmt.Errorf("parse address %q: the key must be a string in quotes; in a shell, write '%s[\"KEY\"]'", s, head)
	}
	i.Key, i.HasKey = unquoted, true
	return i, nil
}

// KeyOf is the key of an instance's address without brackets and quotes, as people read
// it, or the whole address of one without a key.
func KeyOf(address string) string {
	_, key, ok := strings.Cut(address, "[")
	if !ok {
		return address
	}
	return strings.Trim(strings.TrimSuffix(key, "]"), `"`)
}
