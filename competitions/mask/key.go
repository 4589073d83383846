package mask

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// MinSalt is the least length of a salt in bytes.
const MinSalt = 16

// Salt decides the keys of ids and the order of rows.
type Salt []byte

// ParseSalt reads the content of a salt file: all of it, without spaces and
// line ends around it.
func ParseSalt(file []byte) (Salt, error) {
	salt := Salt(strings.TrimSpace(string(file)))
	if len(salt) < MinSalt {
		return nil, fmt.Errorf("the salt has %d bytes, and less than %d could be guessed: make one with head -c 32 /dev/urandom | base64", len(salt), MinSalt)
	}
	return salt, nil
}

// WriteSalt writes a random salt as text.
func WriteSalt(w io.Writer) error {
	var salt [32]byte
	rand.Read(salt[:])
	_, err := fmt.Fprintln(w, base64.StdEncoding.EncodeToString(salt[:]))
	return err
}

// keyer makes keys. It is not safe for concurrent use.
type keyer struct {
	salt Salt
	ids  *vocabulary
	mac  hash.Hash
	sum  [sha256.Size]byte
}

func newKeyer(salt Salt) *keyer {
	return &keyer{salt: salt, ids: newVocabulary(), mac: hmac.New(sha256.New, salt)}
}

// hash returns the keyed hash of a text for a purpose.
func (k *keyer) hash(purpose, text string) []byte {
	k.mac.Reset()
	k.mac.Write([]byte(purpose))
	k.mac.Write([]byte{0})
	k.mac.Write([]byte(text))
	return k.mac.Sum(k.sum[:0])
}

func (k *keyer) clone() change {
	other := newKeyer(k.salt)
	other.ids = k.ids
	return other
}

func (k *keyer) known(text string) bool { return k.ids.has(text) }
func (k *keyer) keep(string) bool       { return true }
func (k *keyer) plain() bool            { return false }

// order returns where the rows of an id go.
func (k *keyer) order(id string) uint64 { return binary.BigEndian.Uint64(k.hash("order", id)) }

var (
	integer = pattern.New(`^[0-9]+$`)
	suffix  = pattern.New(`(\.[A-Za-z][A-Za-z0-9]{1,4})+$`)
	lower   = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// key returns the replacement of an id: an integer for one below 2⁶², whose leading
// zeros do not count, and else a string. A suffix of letters such as .jpg stays.
func (k *keyer) key(id string) string {
	if id == "" {
		return ""
	}
	if integer.Regexp().MatchString(id) {
		if n, err := strconv.ParseUint(id, 10, 64); err == nil && n < 1<<large {
			return k.number(n)
		}
	}
	end := suffix.Regexp().FindString(id)
	if stem := strings.TrimSuffix(id, end); stem != "" && end != "" { // 12.jpg is the file of row 12
		return k.key(stem) + end
	}
	return "m" + lower.EncodeToString(k.hash("key", id))[:20]
}

// The widths of integers in bits. One below 2⁵² stays below 2⁵³, so that a float
// holds it.
const (
	small = 52
	large = 62
)

// number returns the key of an integer.
func (k *keyer) number(n uint64) string {
	width := small
	if n >= 1<<small {
		width = large
	}
	return strconv.FormatUint(1<<width|k.permute(n, width/2), 10)
}

// permute is a Feistel network of ten rounds over integers of twice half bits.
func (k *keyer) permute(n uint64, half int) uint64 {
	low := uint64(1)<<half - 1
	left, right := n>>half, n&low
	var text [10]byte
	for round := range byte(10) {
		binary.BigEndian.PutUint64(text[:8], right)
		text[8], text[9] = round, byte(half)
		left, right = right, (left^uint64(binary.BigEndian.Uint32(k.hash("integer", string(text[:])))))&low
	}
	return left<<half | right
}
