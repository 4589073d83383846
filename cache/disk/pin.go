package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Pin keeps records and content from being evicted. Runs and lock files hold
// pins by their name.
type Pin struct {
	Name string `json:"name"`
	// Actions are pinned with everything their records lead to.
	Actions []digest.ActionID `json:"actions,omitempty"`
	// Refs are pinned with everything below them.
	Refs             []cache.Ref `json:"refs,omitempty"`
	CreatedUnixMilli int64       `json:"created_unix_ms"`
}

// pins is the folder of pins.
type pins struct {
	*folder
	objects *objects
	records *records
}

// Pin creates or replaces the pin p.Name. What it names must be in the cache;
// otherwise the error wraps cache.ErrNotFound.
func (c *pins) Pin(ctx context.Context, p Pin) error {
	if err := c.writing("pin"); err != nil {
		return err
	}
	if p.Name == "" {
		return errors.New("pin: the name is empty")
	}
	// No collection may run between the check and the pin.
	unlock, err := c.lockGC(ctx, unix.LOCK_SH)
	if err != nil {
		return fmt.Errorf("pin %s: %w", p.Name, err)
	}
	defer unlock()
	for _, id := range p.Actions {
		if _, err := c.records.Lookup(ctx, id); err != nil {
			return fmt.Errorf("pin %s: %w", p.Name, err)
		}
	}
	for _, ref := range p.Refs {
		if _, err := c.objects.Has(ctx, ref.ID); err != nil {
			return fmt.Errorf("pin %s: %w", p.Name, err)
		}
	}
	p.CreatedUnixMilli = c.now().UnixMilli()
	data, err := json.MarshalIndent(p, "", " ")
	if err == nil {
		err = writeFileAtomic(c.pinPath(p.Name), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("pin %s: %w", p.Name, c.explain(err))
	}
	return nil
}

// Unpin removes a pin, or returns an error that wraps cache.ErrNotFound.
func (c *pins) Unpin(_ context.Context, name string) error {
	if err := c.writing("unpin"); err != nil {
		return err
	}
	err := os.Remove(c.pinPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = cache.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("unpin %s: %w", name, err)
	}
	return nil
}

// Pins returns all pins, sorted by name.
func (c *pins) Pins(context.Context) ([]Pin, error) {
	list, err := os.ReadDir(c.path(pinsName))
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	var pins []Pin
	for _, d := range list {
		if !strings.HasSuffix(d.Name(), ".json") {
			continue
		}
		p, err := readPin(c.path(pinsName, d.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list pins: %w", err)
		}
		pins = append(pins, p)
	}
	slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
	return pins, nil
}

func readPin(path string) (p Pin, err error) {
	data, err := nolink.ReadFile(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// pinPath returns the file of a pin. Names of pins stay readable, and no two
// share a file.
func (c *pins) pinPath(name string) string {
	return c.path(pinsName, safeName(name)+"-"+digest.Of([]byte(name)).Short()+".json")
}

// lockGC waits for the lock that separates collection, verification and
// pinning.
func (c *folder) lockGC(ctx context.Context, how int) (unlock func(), err error) {
	return c.lockNamed(ctx, "gc", how)
}
