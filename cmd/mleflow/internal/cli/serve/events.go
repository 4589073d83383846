package serve

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

const (
	// maxStreams is how many streams a person may have at a time.
	maxStreams = 50
	// beat is how often a quiet stream says that it lives, so that no proxy ends it.
	beat = 15 * time.Second
)

// events sends the events of a run, also those to come, as server-sent events. The id of one
// is its number, from 1.
func (c *call) events() error {
	past, err := c.past()
	if err != nil {
		return err
	}
	if c.count(1) > maxStreams {
		c.count(-1)
		return fmt.Errorf("%w: you follow %d runs already", service.ErrLimit, maxStreams)
	}
	defer c.count(-1)
	last, _ := strconv.Atoi(c.Request.Header.Get("Last-Event-ID")) // anything else is the beginning
	c.startEvents()
	_ = c.follow(past, last) // it can no longer be said
	return nil
}

// startEvents begins an answer of server-sent events.
func (c *call) startEvents() {
	c.Header().Set("Content-Type", "text/event-stream")
	c.Header().Set("X-Accel-Buffering", "no") // of nginx
	c.WriteHeader(http.StatusOK)
}

// count adds to the streams of the person.
func (c *call) count(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams[c.who.Name] += n
	return c.streams[c.who.Name]
}

func (c *call) follow(past *history.Past, last int) error {
	control, watch, n := http.NewResponseController(c.ResponseWriter), past.Watch(), 0
	for spoke := time.Now(); ; {
		lives := past.Running() // before the journal is read: it may end in between
		list, err := watch.Next()
		if err != nil {
			return err
		}
		for _, e := range list {
			if n++; n <= last {
				continue
			}
			line, err := event.Encode(e)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(c.ResponseWriter, "id: %d\ndata: %s\n\n", n, line); err != nil {
				return err
			}
			spoke = time.Now()
		}
		if !lives {
			_, err := fmt.Fprintf(c.ResponseWriter, "event: end\ndata: {}\n\n")
			return err
		}
		if time.Since(spoke) > beat {
			if _, err := fmt.Fprint(c.ResponseWriter, ": lives\n\n"); err != nil {
				return err
			}
			spoke = time.Now()
		}
		if err := control.Flush(); err != nil {
			return err
		}
		if err := progress.Sleep(c.Context(), 300*time.Millisecond); err != nil {
			return err
		}
	}
}
