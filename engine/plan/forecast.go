package plan

// Estimate is the disk space that one step is expected to need.
type Estimate struct {
	// CacheBytes stay in the cache; PeakBytes are held beyond them while the
	// step runs.
	CacheBytes int64 `json:"cache_bytes"`
	PeakBytes  int64 `json:"peak_bytes"`
	// Files is the number of objects, 0 if it is not known.
	Files int64 `json:"files,omitempty"`
	// Basis says where the numbers come from.
	Basis string `json:"basis,omitempty"`
	// Unknown says that the step has no estimate, so the numbers are too low.
	Unknown bool `json:"unknown,omitempty"`
}

// Verdict says whether there is enough space.
type Verdict string

// The verdicts.
const (
	// Fits: there is enough space in any order of the steps.
	Fits Verdict = "fits"
	// Waits: there is enough space because steps wait for each other.
	Waits Verdict = "waits"
	// Evicts: there is enough space if unpinned results are evicted.
	Evicts Verdict = "evicts"
	// TooLarge: there may be too little space for some step.
	TooLarge Verdict = "too large"
	// Unlimited: the available space is unknown.
	Unlimited Verdict = "unknown"
)

// Forecast is the disk space that a run is expected to need. Deferred steps
// count as if they ran, and content that is already in the cache is not
// subtracted. So it is an upper bound if the steps' own estimates are.
type Forecast struct {
	// Steps is the number of steps counted, and Unknown the number of those
	// without an estimate.
	Steps   int `json:"steps"`
	Unknown int `json:"unknown,omitempty"`
	// CacheBytes and Files are what the run adds to the cache: the sums over the
	// steps.
	CacheBytes int64 `json:"cache_bytes"`
	Files      int64 `json:"files"`
	// PeakBytes is the most that is held at any moment, whatever the order and the
	// durations, if no more than Parallel steps run at a time.
	PeakBytes int64 `json:"peak_bytes"`
	Parallel  int   `json:"parallel"`
	// PeakStep is the step that holds most of it beyond the cache.
	PeakStep string `json:"peak_step,omitempty"`
	// NeedBytes is enough for all of them, in any order, if steps wait for each
	// other, as they do when space is short. NeedStep is the step that needs it.
	NeedBytes int64  `json:"need_bytes"`
	NeedStep  string `json:"need_step,omitempty"`
	// Order lists the steps that need space, as the scheduler starts them when
	// one runs at a time; at most 1,000.
	Order []Held `json:"order,omitempty"`
	Space Space  `json:"space"`
	// AvailableBytes can be added now: what the disk or the quota leaves,
	// whichever is less; -1 if neither is known.
	AvailableBytes int64   `json:"room_bytes"`
	Verdict        Verdict `json:"verdict"`
	// Warning says what is wrong and what to do; empty if nothing is.
	Warning string `json:"warning,omitempty"`
}

// Held is a step of the serial order with what is held while it runs.
type Held struct {
	Name  string `json:"address"`
	Bytes int64  `json:"bytes"`
}

// Space is the space on the cache's disk.
type Space struct {
	// FreeBytes and FreeFiles are what the file system has left, -1 if unknown.
	FreeBytes int64 `json:"free_bytes"`
	FreeFiles int64 `json:"free_files"`
	// QuotaBytes is the cache's limit, 0 if it has none, and UsedBytes what it
	// contains.
	QuotaBytes int64 `json:"quota_bytes"`
	UsedBytes  int64 `json:"used_bytes"`
}
