package download

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/competitions/footprint"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// Estimate implements step.Estimator.
func (d *download) Estimate() step.Estimate {
	sum := step.Estimate{Known: true}
	for _, it := range d.items {
		add(&sum, d.estimate(it, source.Availability{}))
	}
	return sum
}

// add adds the estimate of one item to the sum. Items are fetched one after another.
func add(sum *step.Estimate, est step.Estimate) {
	sum.Known = sum.Known && est.Known
	sum.CacheBytes += est.CacheBytes
	sum.PeakBytes = max(sum.PeakBytes, est.PeakBytes)
	sum.Files += est.Files
	sum.Basis = cmp.Or(sum.Basis, est.Basis)
}

// estimate returns the space for one item. It is based on the source's answer, the
// local file, or the size in the definition.
func (d *download) estimate(it item, a source.Availability) step.Estimate {
	if l, ok := it.local(); ok {
		est := step.Estimate{CacheBytes: l.bytes, Files: l.files, Known: true, Basis: "the size of the local data"}
		if l.packed && it.as == "" {
			est.CacheBytes, _ = footprint.Unpacked(d.def, l.unpacked)
		}
		return est
	}
	if it.as != "" && a.Bytes == 0 && len(d.items) > 1 {
		return step.Estimate{Files: 1, Known: true} // a small file next to the download
	}
	est := step.Estimate{CacheBytes: a.Unpacked, PeakBytes: a.Bytes, Files: int64(a.Files), Basis: "the size reported by the source"}
	if est.CacheBytes == 0 && d.isAll(it) {
		est.CacheBytes, est.Basis = footprint.Files(d.def), "size_gb"
		if most := a.Bytes * footprint.PackFactor; a.Bytes > 0 && (est.CacheBytes == 0 || most < est.CacheBytes) {
			est.CacheBytes, est.Basis = most, fmt.Sprintf("the archive's size × %d", footprint.PackFactor)
		}
	}
	est.CacheBytes = max(est.CacheBytes, est.PeakBytes)
	if est.PeakBytes == 0 {
		est.PeakBytes = est.CacheBytes // the archive is no larger than the files in it
	}
	est.Known = est.CacheBytes > 0
	if it.as != "" {
		est.CacheBytes, est.PeakBytes = est.PeakBytes, 0
		return est
	}
	var factor float64
	if est.CacheBytes, factor = footprint.Unpacked(d.def, est.CacheBytes); factor != 1 {
		est.Basis += fmt.Sprintf(" × %g", factor)
	}
	if !est.Known {
		est.Basis = ""
	}
	return est
}

// isAll reports whether the definition's size applies to the item. The other items are
// small additional files.
func (d *download) isAll(it item) bool {
	unpacked := 0
	for _, other := range d.items {
		if other.as == "" {
			unpacked++
		}
	}
	return len(d.items) == 1 || it.as == "" && unpacked == 1
}

// local describes data on this machine that are read in place.
type local struct {
	bytes, files int64
	// packed means that the data are an archive; unpacked is its unpacked size.
	packed   bool
	unpacked int64
}

// local measures data on this machine.
func (it item) local() (local, bool) {
	if it.kind != "file" && it.kind != "reference" {
		return local{}, false
	}
	if it.spec.Base != nil && !filepath.IsAbs(it.spec.Path) {
		info, err := fs.Stat(it.spec.Base, it.spec.Path)
		if err != nil {
			return local{}, false
		}
		return local{bytes: info.Size(), packed: true, unpacked: textRatio(info.Size())}, true
	}
	at := it.spec.Path
	if it.kind == "reference" {
		at = source.Reference{}.Taken(it.spec)
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return local{}, false
	case info.IsDir():
		return folderSize(at), true
	case !info.Mode().IsRegular():
		return local{}, false
	}
	return fileSize(at, info.Size()), true
}

// textRatio is the assumed ratio of unpacked to packed size for archives of
// text files.
func textRatio(size int64) int64 { return int64(float64(size) * footprint.TextFactor) }

// fileSize returns the size of a file. For a zip file, it also returns the total size
// of its entries.
func fileSize(path string, size int64) local {
	z, err := zip.OpenReader(path)
	if err != nil {
		return local{bytes: size, packed: true, unpacked: textRatio(size)}
	}
	defer z.Close()
	l := local{bytes: size, packed: true, files: int64(len(z.File))}
	for _, f := range z.File {
		l.unpacked += int64(min(f.UncompressedSize64, 1<<50))
	}
	return l
}

// folderSize adds up the files below a folder. Files that cannot be read count as 0;
// the errors appear when they are read later.
func folderSize(dir string) (sum local) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			sum.bytes += info.Size()
			sum.files++
		}
		return nil
	})
	return sum
}

// Preflight implements step.Preflighter.
func (d *download) Preflight(ctx context.Context) (step.Preflight, error) {
	p := step.Preflight{Subject: d.competition, Estimate: step.Estimate{Known: true}}
	var errs []error
	for _, it := range d.items {
		var a source.Availability
		var err error
		if i, ok := it.source.(source.Inspector); ok {
			a, err = i.Inspect(ctx, it.spec)
		}
		it.findings(&p, a, err)
		if err != nil {
			errs = append(errs, classify(err))
		}
		p.Bytes += a.Bytes
		p.Files += a.Files
		add(&p.Estimate, d.estimate(it, a))
	}
	return p, errors.Join(errs...)
}

// findings records the meaning of a source's answer for people.
func (it item) findings(p *step.Preflight, a source.Availability, err error) {
	if p.Place == "" && it.kind != "file" {
		p.Place = it.kind
	}
	p.Note = cmp.Or(p.Note, a.Note)
	if it.kind != "kaggle" || errors.Is(err, source.ErrOffline) || a.Note == source.NoteMirror {
		if a.Note == source.NoteMirror {
			p.Place = "mirror"
		}
		return
	}
	page := "https://www.kaggle.com/competitions/" + it.spec.Slug
	p.Credential, p.Rules = step.FindingOK, step.FindingOK
	switch {
	case err == nil:
	case errors.Is(err, source.ErrCredential):
		p.Credential, p.Rules, p.Link = step.FindingMissing, step.FindingUnknown, "https://www.kaggle.com/settings"
	case errors.Is(err, source.ErrRules):
		p.Rules, p.Link = step.FindingMissing, page+"/rules"
	case errors.Is(err, source.ErrGone):
		p.Rules, p.Link = step.FindingUnknown, page
	default:
		p.Credential, p.Rules = step.FindingUnknown, step.FindingUnknown
	}
}
