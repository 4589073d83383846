package plan

// Estimate is the room one step is expected to need, in bytes.
type Estimate struct {
	// CacheBytes stay in the cache; PeakBytes are held beyond them while the
	// step runs.
	CacheBytes int64 `json:"cache_bytes"`
	PeakBytes  int64 `json:"peak_bytes"`
	// Files is the number of objects, 0 if it cannot be told.
	Files int64 `json:"files,omitempty"`
	// Basis says where the numbers come from.
	Basis string `json:"basis,omitempty"`
	// Unknown says that the step cannot tell and the numbers are too low.
	Unknown bool `json:"unknown,omitempty"`
}

// Verdict says whether what will run fits.
type Verdict string

// The verdicts.
const (
	// Fits: even in the most wasteful order there is room.
	Fits Verdict = "fits"
	// Waits: there is room if steps wait for each other, which they do.
	Waits Verdict = "waits"
	// Evicts: there is room if results that nothing pins are evicted.
	Evicts Verdict = "evicts"
	// TooLarge: some step may find no room.
	TooLarge Verdict = "too large"
	// Unlimited: nothing is known of the room there is.
	Unlimited Verdict = "unknown"
)

// Forecast is how much disk the steps that run, and those that may, are
// expected to need. Deferred steps count as if they ran, and nothing that they
// share with the cache is taken off, so it is an upper bound as far as the
// steps' own estimates are.
type Forecast struct {
	// Steps is how many are counted, and Unknown how many of them cannot
	// tell what they need.
	Steps   int `json:"steps"`
	Unknown int `json:"unknown,omitempty"`
	// CacheBytes and Files are what is added in the end: the sums over the
	// steps.
	CacheBytes int64 `json:"cache_bytes"`
	Files      int64 `json:"files"`
	// PeakBytes is the most that is held at any moment, whatever the order
	// and the durations: no more than Parallel steps run at a time.
	PeakBytes int64 `json:"peak_bytes"`
	Parallel  int   `json:"parallel"`
	// PeakStep is the step that holds most of it beyond the cache.
	PeakStep string `json:"peak_step,omitempty"`
	// NeedBytes is what suffices for all of them, in whatever order, when
	// steps wait for each other as they do where room is short. NeedStep is
	// the step that needs it.
	NeedBytes int64  `json:"need_bytes"`
	NeedStep  string `json:"need_step,omitempty"`
	// Order are the steps that need room, as the scheduler starts them when
	// one runs at a time; at most 1,000.
	Order []Held `json:"order,omitempty"`
	Space Space  `json:"space"`
	// RoomBytes is what may be added at any moment: the lesser of what disk
	// and quota leave, -1 if neither is known.
	RoomBytes int64   `json:"room_bytes"`
	Verdict   Verdict `json:"verdict"`
	// Warning says what to do, if there is something.
	Warning string `json:"warning,omitempty"`
}

// Held is a step of the serial order with what is held while it runs.
type Held struct {
	Name  string `json:"address"`
	Bytes int64  `json:"bytes"`
}

// Space is what there is on the cache's disk.
type Space struct {
	// FreeBytes and FreeFiles are what the file system leaves, -1 if unknown.
	FreeBytes int64 `json:"free_bytes"`
	FreeFiles int64 `json:"free_files"`
	// QuotaBytes is the cache's limit, 0 if it has none, and UsedBytes what
	// it holds.
	QuotaBytes int64 `json:"quota_bytes"`
	UsedBytes  int64 `json:"used_bytes"`
}
