package enginetest

// Edit changes the pipeline at random, as a person would: an argument, a
// comment that does not change the result, the inputs, the keys, or the version
// of a kind. It returns a description of the change.
func (m *Model) Edit() string {
	b := pick(m.rng, m.blocks)
	switch m.rng.IntN(8) {
	case 0:
		b.text = m.text()
		return "text of " + b.name
	case 1:
		b.text = effective(b.text) + "#" + m.text()
		return "comment of " + b.name
	case 2, 3:
		if !b.keyed {
			b.text = m.text()
			return "text of " + b.name
		}
		key := pick(m.rng, m.keys)
		b.override[key] = m.text()
		return "text of " + b.name + " " + key
	case 4:
		at := 0
		for m.blocks[at] != b {
			at++
		}
		m.wire(b, m.blocks[:at])
		return "inputs of " + b.name
	case 5:
		if len(m.keys)*len(m.blocks) < m.max {
			m.addKey()
			return "a key more"
		}
		return m.dropKey()
	case 6:
		return m.dropKey()
	default:
		if m.rng.IntN(4) > 0 {
			b.text = m.text()
			return "text of " + b.name
		}
		m.versions[b.kind]++
		return "version of " + b.kind
	}
}

func (m *Model) dropKey() string {
	if len(m.keys) < 2 {
		m.addKey()
		return "a key more"
	}
	i := m.rng.IntN(len(m.keys))
	key := m.keys[i]
	m.keys = append(m.keys[:i], m.keys[i+1:]...)
	for _, b := range m.blocks {
		delete(b.override, key)
	}
	return "without key " + key
}
