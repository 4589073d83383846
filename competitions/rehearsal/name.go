package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// entity is a thing that has an id in the raw data.
type entity struct {
	// order is a random number: the entities with the smallest ones are drawn.
	order uint64
	// z is the hidden value that all data of the entity depend on.
	z       float64
	chosen  bool
	name    string   // the made-up id, once it is drawn
	listed  bool     // a column has the id
	folders []string // folders with a file of this name
}

func digest(s string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, s)
	return h.Sum64()
}

// entity returns the entity with an id. It is added if it is not known yet.
func (s *shape) entity(known string) *entity {
	e := s.entities[known]
	if e == nil {
		sum := sha256.Sum256([]byte(s.ID + "\x00" + known))
		e = &entity{order: binary.LittleEndian.Uint64(sum[:]), z: stat.NormalQuantile((float64(binary.LittleEndian.Uint32(sum[8:])) + 0.5) / (1 << 32))}
		s.entities[strings.Clone(known)] = e
	}
	return e
}

// choose marks the first n entities of ids, in their random order, unless half as many
// are marked.
func (s *shape) choose(ids []string, n int) {
	all := make([]*entity, 0, len(ids))
	chosen := 0
	for _, v := range ids {
		e := s.entity(v)
		all = append(all, e)
		if e.chosen {
			chosen++
		}
	}
	if 2*chosen >= n {
		return
	}
	slices.SortFunc(all, func(a, b *entity) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	for _, e := range all[:min(n, len(all))] {
		e.chosen = true
	}
}

// split cuts an id that is the path of a file into folder, stem and extension. Any other
// id is a stem.
func (s *shape) split(v string) (dir, stem, ext string) {
	dir, stem = path.Split(v)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if dir != "" && !s.folders[part] {
			return "", v, ""
		}
	}
	if ext = path.Ext(stem); !s.extensions[ext] {
		ext = ""
	}
	return dir, strings.TrimSuffix(stem, ext), ext
}

func (s *shape) stems(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		_, out[i], _ = s.split(v)
	}
	return out
}

// rename returns the made-up id for a real one, or the path for that of a file.
func (d *drawing) rename(v string, p *idPattern) string {
	dir, stem, ext := d.split(v)
	name := d.name(stem, p)
	return d.folder(d.shard(dir, stem, name)) + name + ext
}

// folder returns the made-up path of a folder: ids and replaced values are other ones.
func (d *drawing) folder(dir string) string {
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		if p := d.idFolders[part]; p != nil {
			parts[i] = d.name(part, p)
		} else if code, ok := d.codes[part]; ok {
			parts[i] = code
		}
	}
	return strings.Join(parts, "/")
}

// name returns the made-up id of an entity.
func (d *drawing) name(known string, p *idPattern) string {
	e := d.entity(known)
	for try := 0; e.name == ""; try++ {
		name := p.draw(d, try/1000)
		if d.entities[name] == nil && !d.used[name] {
			e.name = name
			d.used[name] = true
		}
	}
	return e.name
}

// idPattern is the form of ids.
type idPattern struct {
	parts      []*idPattern // of ids with separators, the parts between them
	separators string
	next       uint64   // of integers, the last that was drawn; else 0
	alphabet   []string // the characters of each place
	min, max   int      // characters
}

// patternOf returns the form of ids: integers, or parts between separators.
func patternOf(ids []string) *idPattern {
	integers, highest := true, uint64(0)
	for _, v := range ids {
		v = strings.TrimPrefix(v, "-")
		n, err := strconv.ParseUint(v, 10, 64)
		integers = integers && err == nil && strconv.FormatUint(n, 10) == v
		highest = max(highest, n)
	}
	if integers {
		return &idPattern{next: max(1, highest)}
	}
	isSeparator := func(c rune) bool { return strings.ContainsRune("_-. /:", c) }
	out := &idPattern{}
	columns := map[int][]string{}
	for i, v := range ids {
		separators := strings.Map(func(c rune) rune {
			if isSeparator(c) {
				return c
			}
			return -1
		}, v)
		if i == 0 {
			out.separators = separators
		}
		if separators != out.separators {
			return partOf(ids)
		}
		for k, part := range strings.FieldsFunc(v, isSeparator) {
			columns[k] = append(columns[k], part)
		}
	}
	for k := range len(columns) {
		if len(columns[k]) != len(ids) || len(columns) != len(out.separators)+1 {
			return partOf(ids)
		}
		out.parts = append(out.parts, partOf(columns[k]))
	}
	return out
}

// partOf returns the form of strings: of one length with the characters of each place, or
// a prefix and characters of a class.
func partOf(ids []string) *idPattern {
	p := &idPattern{min: len(ids[0]), max: len(ids[0])}
	for _, v := range ids {
		p.min, p.max = min(p.min, len(v)), max(p.max, len(v))
	}
	places := make([]map[byte]bool, p.max)
	for _, v := range ids {
		for i := range len(v) {
			if places[i] == nil {
				places[i] = map[byte]bool{}
			}
			places[i][v[i]] = true
		}
	}
	varied := map[byte]bool{}
	for i, place := range places {
		if len(place) > 1 || i >= p.min {
			maps.Copy(varied, place)
		}
	}
	few := len(ids) < fewFiles // their letters would say too much
	for i, place := range places {
		only := string(slices.Collect(maps.Keys(place))[0])
		switch {
		case len(place) == 1 && i < p.min && only < "\x80" && (!few || strings.Trim(only, alphanumeric) != ""):
			p.alphabet = append(p.alphabet, only)
		case !few && len(varied) <= 6 && in(varied, letters):
			p.alphabet = append(p.alphabet, sorted(varied))
		case p.min == p.max:
			p.alphabet = append(p.alphabet, class(place))
		default:
			p.alphabet = append(p.alphabet, class(varied))
			return p // the last alphabet is that of all places that follow
		}
	}
	return p
}

const (
	digits       = "0123456789"
	lower        = "abcdefghijklmnopqrstuvwxyz"
	upper        = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters      = lower + upper
	alphanumeric = digits + letters
)

func sorted(chars map[byte]bool) string { return string(slices.Sorted(maps.Keys(chars))) }

func in(chars map[byte]bool, class string) bool { return strings.Trim(sorted(chars), class) == "" }

// class returns the smallest class of characters that has all that occur.
func class(chars map[byte]bool) string {
	for _, c := range []string{digits, digits + "abcdef", digits + "ABCDEF", lower, upper, digits + lower, digits + upper} {
		if in(chars, c) && (strings.ContainsAny(sorted(chars), digits) || c[0] != '0') {
			return c
		}
	}
	return alphanumeric
}

// draw returns an id of the pattern, with so many characters more if there are few.
func (p *idPattern) draw(d *drawing, more int) string {
	if p.next > 0 {
		p.next += 1 + uint64(d.IntN(3))
		return strconv.FormatUint(p.next, 10)
	}
	if len(p.parts) > 0 {
		out := p.parts[0].draw(d, more)
		for i, part := range p.parts[1:] {
			out += p.separators[i:i+1] + part.draw(d, 0)
		}
		return out
	}
	out := make([]byte, p.min+d.IntN(p.max-p.min+1)+more)
	for i := range out {
		set := p.alphabet[min(i, len(p.alphabet)-1)]
		if i >= p.max {
			set = digits
		}
		out[i] = set[d.IntN(len(set))]
	}
	return string(out)
}
