package breach

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/parallel"
)

// Command is the hidden sub-command that looks for breaches.
const Command = "look-for-breaches"

// Main reads Targets from standard input, tries them, and writes the breaches to
// standard output as a JSON array.
func Main(stdin io.Reader, stdout io.Writer) error {
	var t Targets
	if err := json.NewDecoder(stdin).Decode(&t); err != nil {
		return fmt.Errorf("read what is to be tried: %w", err)
	}
	found := Look(&t)
	if found == nil {
		found = []string{}
	}
	return json.NewEncoder(stdout).Encode(found)
}

const (
	// patience is the time for an address to answer. It is long enough for a busy
	// server that drops the first two packets. Without a network, connecting fails at
	// once.
	patience = 5 * time.Second
	// atOnce is the number of addresses that are tried at the same time.
	atOnce = 64
)

// Look tries each target from inside the sandbox and returns the sorted breaches.
func Look(t *Targets) (found []string) {
	var mu sync.Mutex
	parallel.Do(len(t.Addresses), atOnce, func(i int) {
		if a := t.Addresses[i]; a.reach() == nil {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, fmt.Sprintf("%s (%s %s)", a.What, a.Network, a.Address))
		}
	})
	found = append(found, t.readable()...)
	found = append(found, t.variables()...)
	slices.Sort(found)
	return slices.Compact(found)
}

// reach returns nil if a server answers at the address.
func (a Address) reach() error {
	c, err := net.DialTimeout(a.Network, a.Address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if a.Network != "udp" {
		return nil
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(question); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 512))
	return err
}

// question is a DNS query for the address of localhost.
var question = []byte("\x4d\x4c\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09localhost\x00\x00\x01\x00\x01")

// readable returns the forbidden files that can be opened, by name or through a
// process.
func (t *Targets) readable() (found []string) {
	roots := append([]string{""}, inProcesses("root")...)
	for _, f := range t.Files {
		for _, root := range roots {
			if t.has(filepath.Join(root, string(f.Path)), f) == nil {
				found = append(found, "the file "+string(f.Path))
			}
		}
	}
	return found
}

// variables returns the forbidden variables in the environment of any process,
// including this one.
func (t *Targets) variables() (found []string) {
	for _, path := range inProcesses("environ") {
		content, err := readStart(path)
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(content, []byte{0}) {
			if name, secret := t.Variables[t.hash(v)]; secret {
				found = append(found, "the environment variable "+name)
			}
		}
	}
	return found
}

// inProcesses returns the path of a file of each process.
func inProcesses(name string) (paths []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			paths = append(paths, filepath.Join("/proc", e.Name(), name))
		}
	}
	return paths
}

// Targets are the targets to try from inside a sandbox.
type Targets struct {
	Addresses []Address `json:"addresses"`
	Files     []File    `json:"files"`
	// Variables maps hashes of NAME=VALUE to the names of the variables.
	Variables map[string]string `json:"variables"`
	// Key is the key of the hashes.
	Key []byte `json:"key"`

	// What follows is for a thief only. Words maps hashes of words to what they are. Folders
	// are folders by the kind of their files. Sockets are files of the machine's sockets, and
	// Server is the address of a server of the machine that answers HTTP.
	Words   map[string]string   `json:"words,omitempty"`
	Folders map[string][]string `json:"folders,omitempty"`
	Sockets []string            `json:"sockets,omitempty"`
	Server  string              `json:"server,omitempty"`
	// Mark is an argument of a process of the machine.
	Mark string `json:"mark,omitempty"`
	// Right is a submission with the right answers, if they have the form of one.
	Right []byte `json:"right,omitempty"`
}

// Address is an address to connect to.
type Address struct {
	// What describes it for people.
	What string `json:"what"`
	// Network is tcp, udp or unix. A udp address counts if it answers a DNS query.
	Network string `json:"network"`
	Address string `json:"address"`
	// Open means that it is forbidden even to an agent with an open network.
	Open bool `json:"open,omitempty"`
}

// File is a file that counts only if it has this content, because a sandbox may have
// its own file of that name.
type File struct {
	Path []byte `json:"path"` // need not be UTF-8
	Hash string `json:"hash"`
	// Kind and Size are for a thief only.
	Kind string `json:"kind,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// Len is the number of targets.
func (t *Targets) Len() int { return len(t.Addresses) + len(t.Files) + len(t.Variables) }

// Open returns the targets that are forbidden even to an agent with an open network.
// Such an agent may reach everything that the machine reaches, except servers that give
// out credentials or obey anyone.
func (t *Targets) Open() *Targets {
	o := *t
	o.Addresses = nil
	for _, a := range t.Addresses {
		if a.Open {
			o.Addresses = append(o.Addresses, a)
		}
	}
	return &o
}

func (t *Targets) hash(content []byte) string {
	h := hmac.New(sha256.New, t.Key)
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
