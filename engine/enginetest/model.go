package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

func cacheID(s string) digest.ContentID { return digest.Of([]byte(s)) }

// Model is a random pipeline with its expected behaviour. It renders itself as
// HCL and predicts, without the engine, which instances run.
type Model struct {
	rng      *rand.Rand
	blocks   []*block
	keys     []string
	max      int
	versions map[string]int
	nextKey  int
	// known maps an action, identified by the content of its key, to its
	// content.
	known map[string]string
}

type block struct {
	name  string
	kind  string
	keyed bool
	// text is the text of all instances. override replaces it for single keys.
	text     string
	override map[string]string
	// each lists blocks of which the instance with the same key is an input.
	// all lists blocks of which every instance is an input. value is a block
	// whose value output is part of the text, or nil.
	each, all []*block
	value     *block
}

// Instance is one instance of a model with its expected behaviour.
type Instance struct {
	Address string
	// Runs reports whether it must run, given the earlier applies.
	Runs bool
	key  string
	out  string
}

// NewModel returns a random pipeline of about size instances.
func NewModel(rng *rand.Rand, size int) *Model {
	m := &Model{rng: rng, max: size, versions: map[string]int{"alpha": 1, "beta": 1}, known: map[string]string{}}
	blocks := 2 + rng.IntN(7)
	for range max(1, min(size/blocks, 1+rng.IntN(size))) {
		m.addKey()
	}
	for range blocks {
		m.addBlock()
	}
	return m
}

func (m *Model) addKey() {
	m.nextKey++
	m.keys = append(m.keys, fmt.Sprintf("k%d", m.nextKey))
}

func (m *Model) addBlock() {
	b := &block{name: fmt.Sprintf("b%d", len(m.blocks)), kind: pick(m.rng, []string{"alpha", "beta"}), keyed: m.rng.IntN(4) > 0, text: m.text(), override: map[string]string{}}
	m.wire(b, m.blocks)
	m.blocks = append(m.blocks, b)
}

func (m *Model) text() string { return fmt.Sprintf("t%d#c%d", m.rng.IntN(6), m.rng.IntN(1000)) }

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// wire chooses new inputs for b among the earlier blocks.
func (m *Model) wire(b *block, earlier []*block) {
	b.each, b.all, b.value = nil, nil, nil
	if len(earlier) == 0 {
		return
	}
	for range m.rng.IntN(3) {
		from := pick(m.rng, earlier)
		if b.keyed && from.keyed {
			b.each = append(b.each, from)
		} else if !from.keyed || m.rng.IntN(3) == 0 {
			b.all = append(b.all, from)
		}
	}
	if m.rng.IntN(3) == 0 {
		b.value = pick(m.rng, earlier)
		if b.value.keyed && !b.keyed {
			b.value = nil
		}
	}
}

// HCL renders the pipeline.
func (m *Model) HCL() string {
	var s strings.Builder
	fmt.Fprintf(&s, "locals { keys = toset([%s]) }\n", quoted(m.keys))
	for _, b := range m.blocks {
		fmt.Fprintf(&s, "step %q %q {\n", b.kind, b.name)
		text := fmt.Sprintf("%q", b.text)
		if b.keyed {
			s.WriteString("  for_each = local.keys\n")
			text = fmt.Sprintf("lookup({%s}, each.key, %q)", b.overrides(), b.text)
		}
		if b.value != nil {
			text = fmt.Sprintf("\"${%s.value}${%s}\"", b.value.ref(), text)
		}
		fmt.Fprintf(&s, "  text = %s\n", text)
		s.WriteString("  inputs = concat(" + strings.Join(b.inputs(), ", ") + ")\n}\n")
	}
	return s.String()
}

func (b *block) overrides() string {
	var list []string
	for key, text := range b.override {
		list = append(list, fmt.Sprintf("%s = %q", key, text))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (b *block) ref() string {
	r := "step." + b.kind + "." + b.name
	if b.keyed {
		r += "[each.key]"
	}
	return r
}

func (b *block) inputs() []string {
	list := []string{"[]"}
	for _, from := range b.each {
		list = append(list, "["+from.ref()+".content]")
	}
	for _, from := range b.all {
		if from.keyed {
			list = append(list, fmt.Sprintf("values(step.%s.%s)[*].content", from.kind, from.name))
		} else {
			list = append(list, "["+from.ref()+".content]")
		}
	}
	return list
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(q, ", ")
}

// Versions returns the version of each kind.
func (m *Model) Versions() map[string]int { return m.versions }

// Apply predicts which instances an apply must run, and assumes that they ran.
func (m *Model) Apply() []Instance {
	keys := slices.Sorted(slices.Values(m.keys))
	done := map[*block]map[string]*Instance{}
	var all []Instance
	for _, b := range m.blocks {
		done[b] = map[string]*Instance{}
		own := []string{""}
		if b.keyed {
			own = keys
		}
		for _, k := range own {
			inst := m.apply(b, k, keys, done)
			done[b][k] = inst
			all = append(all, *inst)
		}
	}
	return all
}

func (m *Model) apply(b *block, key string, keys []string, done map[*block]map[string]*Instance) *Instance {
	inst := &Instance{Address: "step." + b.kind + "." + b.name}
	if b.keyed {
		inst.Address += fmt.Sprintf("[%q]", key)
	}
	text := b.text
	if o, ok := b.override[key]; ok {
		text = o
	}
	if b.value != nil {
		text = Value(done[b.value][b.value.keyOr(key)].out) + text
	}
	var inputs []string
	for _, from := range b.each {
		inputs = append(inputs, done[from][key].out)
	}
	for _, from := range b.all {
		if !from.keyed {
			inputs = append(inputs, done[from][""].out)
			continue
		}
		for _, k := range keys {
			inputs = append(inputs, done[from][k].out)
		}
	}
	version := fmt.Sprint(m.versions[b.kind])
	inst.key = strings.Join(append([]string{b.kind, version, text}, inputs...), "\x00")
	inst.out = Content(append([]string{version, effective(text)}, inputs...))
	_, known := m.known[inst.key]
	inst.Runs = !known
	m.known[inst.key] = inst.out
	return inst
}

func (b *block) keyOr(key string) string {
	if b.keyed {
		return key
	}
	return ""
}

// Forget removes from the model a result that the cache lost.
func (m *Model) Forget(inst Instance) { delete(m.known, inst.key) }

// Action identifies the work of the instance. Instances with the same Action do
// the same work.
func (i Instance) Action() string { return i.key }
