package claim

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache/nolink"
)

// Save writes a value as JSON, completely or not at all.
func Save(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return nolink.WriteFile(name, text, 0o600, false)
}

// Load reads a value that Save wrote.
func Load[T any](name string) (v T, err error) {
	text, err := nolink.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", name, err)
	}
	return v, err
}

// BootID identifies the current boot of the machine.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
