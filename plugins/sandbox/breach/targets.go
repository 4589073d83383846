package breach

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Targets are what is tried from inside a sandbox.
type Targets struct {
	Addresses []Address `json:"addresses"`
	Files     []File    `json:"files"`
	// Variables are hashes of NAME=VALUE, with their names.
	Variables map[string]string `json:"variables"`
	// Key is that of the hashes.
	Key []byte `json:"key"`
}

// Address is something to connect to.
type Address struct {
	// What it is, for people.
	What string `json:"what"`
	// Network is tcp, udp or unix. A udp address counts if it answers a question for a
	// name.
	Network string `json:"network"`
	Address string `json:"address"`
	// Open says that it is forbidden even to an agent with an open network.
	Open bool `json:"open,omitempty"`
}

// File is a file that counts if it has this content, since a sandbox may have its
// own of that name.
type File struct {
	Path []byte `json:"path"` // need not be UTF-8
	Hash string `json:"hash"`
}

// Len is how many there are.
func (t *Targets) Len() int { return len(t.Addresses) + len(t.Files) + len(t.Variables) }

// Open returns what is forbidden to an agent with an open network: it reaches what
// the machine reaches, but for what gives out credentials or obeys whoever asks.
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
