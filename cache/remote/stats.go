package remote

import "sync/atomic"

// Stats are what a Tier did so far.
type Stats struct {
	// Requests counts what was asked of the store, Retries how much of it
	// again.
	Requests int64 `json:"requests"`
	Retries  int64 `json:"retries"`
	// BytesIn and BytesOut are what was transferred.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Hits counts the records found, Misses those that were asked for in vain.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	// Fetched and Pushed count results brought here and stored there.
	Fetched int64 `json:"fetched"`
	Pushed  int64 `json:"pushed"`
	// Corrupt counts objects that were not what their name says, Failed
	// operations that were given up.
	Corrupt int64 `json:"corrupt"`
	Failed  int64 `json:"failed"`
}

// counters are Stats under way.
type counters struct {
	requests, retries, bytesIn, bytesOut           atomic.Int64
	hits, misses, fetched, pushed, corrupt, failed atomic.Int64
}

func (c *counters) stats() Stats {
	return Stats{
		Requests: c.requests.Load(), Retries: c.retries.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Hits: c.hits.Load(), Misses: c.misses.Load(), Fetched: c.fetched.Load(), Pushed: c.pushed.Load(),
		Corrupt: c.corrupt.Load(), Failed: c.failed.Load(),
	}
}
