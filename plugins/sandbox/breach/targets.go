package breach

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Targets are the targets to try from inside a sandbox.
type Targets struct {
	Addresses []Address `json:"addresses"`
	Files     []File    `json:"files"`
	// Variables maps hashes of NAME=VALUE to the names of the variables.
	Variables map[string]string `json:"variables"`
	// Key is the key of the hashes.
	Key []byte `json:"key"`
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
