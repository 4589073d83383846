package step

import "github.com/mleflow/mleflow/cache/leaf/progress"

// Follow reports the progress of work, and the end of each of its parts, until
// the returned function is called. It must be called before the work begins.
func (e *Env) Follow(w *progress.Work) (stop func()) {
	return progress.Follow(w, func(s progress.State) { e.Progress(ProgressOf(s)) })
}

// ProgressOf returns the progress of work in files or, if there are none, in
// bytes.
func ProgressOf(s progress.State) Progress {
	if s.Files == 0 && s.TotalFiles == 0 {
		return Progress{What: s.What, Done: s.Bytes, Total: s.TotalBytes, Unit: "bytes"}
	}
	return Progress{What: s.What, Done: s.Files, Total: s.TotalFiles, Unit: "files", Bytes: s.Bytes, TotalBytes: s.TotalBytes}
}
