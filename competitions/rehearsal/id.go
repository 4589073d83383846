package rehearsal

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// entity is a thing that has an id in the raw data.
type entity struct {
	order   uint64  // a random number: the entities with the smallest ones are drawn
	z       float64 // the hidden value that all data of the entity depend on
	chosen  bool
	name    string   // the made-up id, once it is drawn
	listed  bool     // a column has the id
	folders []string // folders with a file of this name
}

// hash returns a number that depends on a text and the competition.
func (s *shape) hash(text string) uint64 {
	sum := sha256.Sum256([]byte(s.ID + "\x00" + text))
	return binary.LittleEndian.Uint64(sum[:])
}

// entity returns the entity with an id. It is added if it is not known yet.
func (s *shape) entity(known string) *entity {
	if s.entities[known] == nil {
		z := (float64(s.hash("z\x00"+known)>>32) + 0.5) / (1 << 32)
		s.entities[known] = &entity{order: s.hash(known), z: stat.NormalQuantile(z)}
	}
	return s.entities[known]
}

// choose chooses the first n entities in their random order.
func choose(all []*entity, n int) {
	all = slices.Compact(slices.SortedFunc(slices.Values(all), func(a, b *entity) int { return cmp.Compare(a.order, b.order) }))
	for _, e := range all[:min(n, len(all))] {
		e.chosen = true
	}
}

// split cuts an id that is the path of a file into folder, stem and extension. Any other
// id is a stem.
func (s *shape) split(v string) (dir, stem, ext string) {
	dir, stem = path.Split(v)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if dir != "" && !s.known[part] {
			return "", v, ""
		}
	}
	if ext = path.Ext(stem); !s.extensions[ext] {
		ext = ""
	}
	return dir, strings.TrimSuffix(stem, ext), ext
}

// rename returns the made-up id for a real one, or the path for that of a file. Without a
// pattern the file keeps its name.
func (d *drawing) rename(v string, p *idPattern) string {
	dir, stem, ext := d.split(v)
	if p != nil {
		stem = d.name(stem, p)
	}
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		parts[i] = d.code(part)
	}
	return strings.Join(parts, "/") + stem + ext
}

// code returns the made-up name of a folder or of a category's value, or that itself.
func (d *drawing) code(v string) string {
	if p := cmp.Or(d.idFolders[v], d.codes[v]); p != nil {
		return d.name(v, p)
	}
	return v
}

// name returns the made-up id of an entity.
func (d *drawing) name(known string, p *idPattern) string {
	e := d.entity(known)
	for try := 0; e.name == ""; try++ {
		name := p.draw(d, try/1000)
		if d.entities[name] == nil && !d.used[name] {
			e.name, d.used[name] = name, true
		}
	}
	return e.name
}

// idPattern is the form of ids.
type idPattern struct {
	next     uint64   // of integers, the last that was drawn; else 0
	alphabet []string // the characters of each place
	least    int      // characters
}

// patternOf returns the form of ids or the names of files: integers, or the characters of
// each place. A character that all have in a place is kept, unless they are few.
func (s *shape) patternOf(ids []string) *idPattern {
	p, integers, places := &idPattern{next: 1}, true, []string(nil)
	for i, v := range ids {
		_, v, _ = s.split(v)
		digits := strings.TrimPrefix(v, "-")
		n, err := strconv.ParseUint(digits, 10, 64)
		integers = integers && err == nil && strconv.FormatUint(n, 10) == digits
		p.next = max(p.next, n)
		if p.least = min(p.least, len(v)); i == 0 {
			p.least = len(v)
		}
		for k := range len(v) {
			if k == len(places) {
				places = append(places, "")
			}
			if strings.IndexByte(places[k], v[k]) < 0 {
				places[k] += v[k : k+1]
			}
		}
	}
	if integers {
		return p
	}
	p.next = 0
	for i, chars := range places {
		at := slices.IndexFunc(classes, func(class string) bool { return strings.Trim(chars, class) == "" })
		if len(chars) > 1 || i >= p.least || chars >= "\x80" || len(ids) < fewFiles && at >= 0 {
			chars = classes[(at+len(classes))%len(classes)] // the last for other characters
		}
		p.alphabet = append(p.alphabet, chars)
	}
	return p
}

// classes are sets of characters, the smallest first.
var classes = []string{"0123456789", "0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"0123456789abcdefghijklmnopqrstuvwxyz", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}

// draw returns an id of the pattern, with so many digits more if there are few.
func (p *idPattern) draw(d *drawing, more int) string {
	if p.next > 0 {
		p.next += 1 + uint64(d.IntN(3))
		return strconv.FormatUint(p.next, 10)
	}
	out := make([]byte, p.least+d.IntN(len(p.alphabet)-p.least+1)+more)
	for i := range out {
		class := classes[0]
		if i < len(p.alphabet) {
			class = p.alphabet[i]
		}
		out[i] = class[d.IntN(len(class))]
	}
	return string(out)
}
