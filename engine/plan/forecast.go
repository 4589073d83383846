package plan

// Estimate is the disk space that one step will probably need.
type Estimate struct {
	// CacheBytes stay in the cache. PeakBytes are needed in addition while the
	// step runs.
	CacheBytes int64 `json:"cache_bytes"`
	PeakBytes  int64 `json:"peak_bytes"`
	// Files is the number of objects, or 0 if it is unknown.
	Files int64 `json:"files,omitempty"`
	// Basis describes the source of the numbers.
	Basis string `json:"basis,omitempty"`
	// Unknown means that the step has no estimate, so the numbers are too low.
	Unknown bool `json:"unknown,omitempty"`
}

// Verdict states whether there is enough space.
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

// Forecast is the disk space that a run will probably need. Deferred steps
// count as if they ran, and content already in the cache is not subtracted. The
// forecast is therefore an upper bound if the steps' estimates are.
type Forecast struct {
	// Steps is the number of steps counted. Unknown is the number of those
	// without an estimate.
	Steps   int `json:"steps"`
	Unknown int `json:"unknown,omitempty"`
	// CacheBytes and Files are the totals that the run adds to the cache.
	CacheBytes int64 `json:"cache_bytes"`
	Files      int64 `json:"files"`
	// PeakBytes is the maximum held at any moment, for any order and any
	// durations, if at most Parallel steps run at a time.
	PeakBytes int64 `json:"peak_bytes"`
	Parallel  int   `json:"parallel"`
	// PeakStep is the step that holds most of PeakBytes beyond the cache.
	PeakStep string `json:"peak_step,omitempty"`
	// NeedBytes suffices for all steps, in any order, if steps wait for each
	// other, as they do when space is short. NeedStep is the step that needs
	// it.
	NeedBytes int64  `json:"need_bytes"`
	NeedStep  string `json:"need_step,omitempty"`
	// Order lists the steps that need space, in the scheduler's order for one
	// step at a time. It has at most 1,000 elements.
	Order []Held `json:"order,omitempty"`
	Space Space  `json:"space"`
	// AvailableBytes can be added now. It is the rest of the disk or of the
	// quota, whichever is less, or -1 if neither is known.
	AvailableBytes int64   `json:"room_bytes"`
	Verdict        Verdict `json:"verdict"`
	// Warning describes the problem and the remedy, or is "" if there is none.
	Warning string `json:"warning,omitempty"`
}

// Held is a step of the serial order with the bytes held while it runs.
type Held struct {
	Name  string `json:"address"`
	Bytes int64  `json:"bytes"`
}

// Space is the space on the cache's disk.
type Space struct {
	// FreeBytes and FreeFiles are left on the file system. They are -1 if
	// unknown.
	FreeBytes int64 `json:"free_bytes"`
	FreeFiles int64 `json:"free_files"`
	// QuotaBytes is the cache's limit, or 0 if it has none. UsedBytes is its
	// size.
	QuotaBytes int64 `json:"quota_bytes"`
	UsedBytes  int64 `json:"used_bytes"`
}
