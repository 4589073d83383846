package remote

import "sync/atomic"

// Stats count the work of a Tier.
type Stats struct {
	// Requests counts the requests to the store, and Retries how many of them were
	// repeated.
	Requests int64 `json:"requests"`
	Retries  int64 `json:"retries"`
	// BytesIn and BytesOut are the bytes that were transferred.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Hits counts the records that were found, Misses those that were not.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	// Fetched and Pushed count results copied from and to the remote.
	Fetched int64 `json:"fetched"`
	Pushed  int64 `json:"pushed"`
	// Corrupt counts objects that did not match their name, Failed operations that
	// were given up.
	Corrupt int64 `json:"corrupt"`
	Failed  int64 `json:"failed"`
}

// counters are Stats that are still counting.
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
