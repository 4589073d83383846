package grading

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// A Rule is a kind of requirement: what an attribute of a require block means.
type Rule struct {
	Name  string
	Value string // what the attribute may be, for documentation
	Doc   string // what it requires

	build func(v cty.Value, p *Plan) (func(*subject) error, error)
}

// rules is the list of all kinds, in the order of documentation.
var rules = slices.Concat(shapeRules, idRules, valueRules)

// Rules returns every kind of requirement, for documentation.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// ruleNames returns the names of all kinds in the order of Rules.
func ruleNames() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.Name
	}
	return names
}

// flag is the build function of a rule that is switched on by true.
func flag(check func(*subject) error) func(cty.Value, *Plan) (func(*subject) error, error) {
	return func(v cty.Value, _ *Plan) (func(*subject) error, error) {
		on, err := truth(v)
		if err != nil || !on {
			return nil, err
		}
		return check, nil
	}
}

// needsID is flag for rules about the id column.
func needsID(check func(*subject) error) func(cty.Value, *Plan) (func(*subject) error, error) {
	return func(v cty.Value, p *Plan) (func(*subject) error, error) {
		if p.ID == "" {
			return nil, fmt.Errorf("the grade block names no id column")
		}
		return flag(check)(v, p)
	}
}

// columnsOrTargets reads true as the targets and a list as itself; false
// switches off.
func columnsOrTargets(v cty.Value, p *Plan) (names []string, on bool, err error) {
	if isList(v) {
		names, err = textList(v)
		return names, err == nil, err
	}
	on, err = truth(v)
	return p.Targets, on, err
}
