package conditions

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/engine/step"
)

// The keys of conditions that say what an attempt could use.
const (
	// Time is the time limit, such as "24h", with the ending "+waits" where the time that
	// a provider kept the agent waiting is given back.
	Time = "time"
	// CPUs, Memory and GPUs are the resources leased to it; "unlimited" is no limit.
	CPUs   = "cpus"
	Memory = "memory"
	GPUs   = "gpus"
	// Network is "none", "allow" or "open". Host is a server that it could reach.
	Network = "network"
	Host    = "host"
	// Budget is what it could spend on models, "none" without models.
	Budget = "budget"
	// Prices are the pipeline's own prices that a budget of cost counted with, where they
	// are not those of mleflow's list.
	Prices = "prices"
	// Feedback is what it learned of its submissions.
	Feedback = "feedback"
	// Knowledge is what it was given besides its own files and the competition: an image,
	// data of other steps, the package mlebench, or a tool of a model's provider.
	Knowledge = "knowledge"
	// Capability is a Linux capability that it had.
	Capability = "capability"
)

// BeyondList is the value of Prices of an attempt whose use is beyond its budget by
// mleflow's list.
const BeyondList = "beyond-budget-by-list"

// Unlimited is the value of a limit that is none, and NotEnforced is said of processors
// where nothing keeps the agent from using more.
const (
	Unlimited   = "unlimited"
	NotEnforced = "not enforced"
)

// NotRecorded is shown for a condition that every attempt records today and that an
// older one does not.
const NotRecorded = "not recorded"

// NoneOf is the value of a condition that says that there was nothing.
const NoneOf = "none"

// Budgets are the keys that must agree among attempts that count as further seeds.
func Budgets() []string {
	return []string{Time, CPUs, Memory, GPUs, step.GPU, Network, Host, Budget, Prices, Feedback, Knowledge, Capability}
}

// Class names the class of attempts: the conditions that must be equal before places
// can be compared, as in "isolation sandbox, task own, time 24h, cpus 8". Where attempts
// differ, all values are listed, as in "time 12h|36h", and what only some of them have is
// counted, as in "1 of 3: stopped by hand"; see Comparable. Several tries at an attempt are a
// condition, too, and so is going on from a checkpoint. The runtime is none, since isolation
// says what it means for a result. HostFiles counts as Sandbox: in both an agent reaches the
// same, and one that needs an interpreter can be compared with one that needs none.
func Class(sets ...[]string) string {
	words := []string{Isolation + " " + Shown(barriers(sets)...), Task + " " + Told(sets...)}
	var lacking []string
	for _, key := range Budgets() {
		switch v := valuesOf(key, sets); v {
		case "":
		case NotRecorded:
			lacking = append(lacking, key)
		default:
			words = append(words, key+" "+v)
		}
	}
	if len(lacking) > 0 {
		words = append(words, strings.Join(lacking, "/")+" "+NotRecorded)
	}
	words = append(append(words, shares(sets, numbered(step.Tries))...), shares(sets, unproven)...)
	if v := valuesOf(Forked, sets); v != "" {
		words = append(words, Forked+" "+v)
	}
	words = append(append(words, shares(sets, numbered(step.Resumes))...), shares(sets, steered)...)
	return strings.Join(words, ", ")
}

// shares lists the words of sets, each once, with the number of sets that have it if not all
// do: "1 of 3: stopped by hand".
func shares(sets [][]string, of func(set []string) []string) []string {
	n := map[string]int{}
	for _, set := range sets {
		for _, word := range step.UnionConditions(of(set)) {
			n[word]++
		}
	}
	return lists.Of(slices.Sorted(maps.Keys(n)), func(word string) string {
		if n[word] == len(sets) {
			return word
		}
		return fmt.Sprintf("%d of %d: %s", n[word], len(sets), word)
	})
}

// counts are the words of a class that say how many attempts have a condition.
var counts = regexp.MustCompile(`\b\d+ of \d+: `)

// Comparable is a class without the numbers of attempts that have a condition. Places and
// comparisons are within equal ones, whatever the number of seeds.
func Comparable(class string) string { return counts.ReplaceAllString(class, "") }

// numbered returns the values under a key, as in "tries 2".
func numbered(key string) func(set []string) []string {
	return func(set []string) []string {
		return lists.Of(step.ConditionValues(set, key), func(v string) string { return key + " " + v })
	}
}

// unproven says of a set that no chain counts its tries.
func unproven(set []string) []string {
	if slices.Contains(set, Unproven) {
		return []string{"tries not provable"}
	}
	return nil
}

// barriers returns sets with the isolation that counts in a class.
func barriers(sets [][]string) [][]string {
	return lists.Of(sets, func(set []string) []string {
		if j := slices.Index(set, Isolation+"="+HostFiles); j >= 0 {
			set = slices.Clone(set)
			set[j] = Isolation + "=" + Sandbox
		}
		return set
	})
}

// valueOf is the value of a key in a set, NotRecorded if it is an attempt's that does not
// record it, and "" in other results.
func valueOf(key string, set []string) string {
	v := strings.Join(step.ConditionValues(set, key), "+")
	if v == "" && len(step.ConditionValues(set, Isolation)) > 0 && slices.Contains([]string{Time, CPUs, Memory, GPUs, Network, Budget, Feedback, Knowledge}, key) {
		return NotRecorded
	}
	return v
}

// valuesOf lists the values of a key, "" if no set has one.
func valuesOf(key string, sets [][]string) string {
	all := step.UnionConditions(lists.Of(sets, func(set []string) string {
		v := valueOf(key, set)
		if key == CPUs && v != "" && v != Unlimited && v != NotRecorded && Untrusted(set) {
			v += " " + NotEnforced
		}
		return v
	}))
	if len(all) > 1 && all[0] == "" {
		if all[0] = Unknown; key == Prices {
			all[0] = "list"
		}
	}
	return strings.Join(all, "|")
}

// Limit writes a time limit without units that are zero: "24h", "1h30m".
func Limit(limit time.Duration) string {
	text := limit.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Hours is the time limit of attempts in hours, "" if they differ or do not say it.
func Hours(sets ...[]string) string {
	limit, err := time.ParseDuration(strings.TrimSuffix(valuesOf(Time, sets), "+waits"))
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(limit.Hours(), 'g', 4, 64)
}

// budgetOf returns the conditions of a set that must agree among further seeds.
func budgetOf(set []string) string {
	var words []string
	for _, key := range Budgets() {
		for _, v := range step.ConditionValues(set, key) {
			words = append(words, key+"="+v)
		}
	}
	return strings.Join(words, ",")
}

// Differing returns the budgets of attempts at one competition, each once and sorted.
func Differing(sets ...[]string) []string {
	return step.UnionConditions(lists.Of(sets, budgetOf))
}

// Apart names each of some sets by the budgets in which they differ: "time 24h, gpus 1".
func Apart(sets ...[]string) []string {
	names := make([]string, len(sets))
	for _, key := range Budgets() {
		if !strings.Contains(valuesOf(key, sets), "|") {
			continue
		}
		for i, set := range sets {
			value := cmp.Or(valueOf(key, set), Unknown)
			names[i] = strings.TrimPrefix(names[i]+", "+key+" "+value, ", ")
		}
	}
	return names
}

// AnyClass selects attempts of all classes.
const AnyClass = "any"

// InClass reports whether a set has all wanted conditions.
func InClass(set, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(want string) bool { return !slices.Contains(set, want) })
}

// CheckClass checks a selection of classes, conditions or AnyClass.
func CheckClass(wanted []string) error {
	keys := append([]string{Isolation, Runtime, Task, Environment, Chain, Forked, step.Tries, step.Resumes, step.Steered}, Budgets()...)
	for _, want := range wanted {
		if key, value, ok := strings.Cut(want, "="); want != AnyClass && (!ok || value == "" || !slices.Contains(keys, key)) {
			return fmt.Errorf("%q is not %s or a condition such as time=24h; its keys are %s", want, AnyClass, strings.Join(keys, ", "))
		}
	}
	if len(wanted) > 1 && slices.Contains(wanted, AnyClass) {
		return fmt.Errorf("%s goes with no other condition", AnyClass)
	}
	return nil
}
