package app

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// KeptSecret returns the text of a file that only this user can read and write. It makes the
// file of a new secret if there is none.
func KeptSecret(path, secret string) (string, error) {
	err := wholefile.Create(path, 0o600, wholefile.Bytes([]byte(secret+"\n")))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	f, err := nolink.Open(filepath.Join(nolink.Folder(filepath.Dir(path)), filepath.Base(path)))
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if why := cmp.Or(nolink.Writers(info), view.When(info.Mode().Perm()&0o077 != 0, "can be read by other users")); why != "" {
		return "", Usagef("%s %s; make it yours alone (chmod 600), or remove it so that a new one is made", path, why)
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return strings.TrimSpace(string(text)), err
}

// orderKey returns the user's key for requests to workers, which is kept in the cache.
func orderKey(cache string) (ed25519.PrivateKey, error) {
	dir := filepath.Join(nolink.Folder(cache), "remote")
	if err := nolink.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	_, fresh, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("orders-%d.key", os.Geteuid()))
	text, err := KeptSecret(path, hex.EncodeToString(fresh.Seed()))
	if err != nil {
		return nil, err
	}
	seed, err := hex.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, Usagef("%s does not hold a key; remove it so that a new one is made", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
