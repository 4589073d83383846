package archive_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// zipPython packs files with bzip2 or LZMA, which Go only reads, and prints
// their MD5: short ones, and ones around the sizes of bzip2's blocks, of noise,
// of text and of runs that bzip2 makes a fourth longer.
const zipPython = `
import hashlib, json, random, sys, zipfile
path, method, small = sys.argv[1], getattr(zipfile, sys.argv[2]), int(sys.argv[3])
draw = random.Random(1)
noise, runs = draw.randbytes(1_000_001), b"".join(bytes([i % 251]) * 4 for i in range(250_001))
files = {f"{i}": draw.randbytes(200) * 20 for i in range(small)}
if small < 100:
    for n in 0, 1, 79_999, 80_000, 80_004, 100_000, 100_001, 640_000, 720_000, 720_004, 899_999, 1_000_001:
        files[f"noise{n}"], files[f"runs{n}"] = noise[:n], runs[:n]
with zipfile.ZipFile(path, "w", method) as z:
    for name, data in files.items():
        z.writestr(name, data)
print(json.dumps({n: hashlib.md5(d).hexdigest() for n, d in files.items()}))
`

// packedBy returns a zip file of many members, and their MD5.
func packedBy(tb testing.TB, method string, small int) ([]byte, map[string]string) {
	tb.Helper()
	if method == "zstd" {
		return packedByZstd(tb, small)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		tb.Skip("no python3")
	}
	path := filepath.Join(tb.TempDir(), "a.zip")
	out, err := exec.Command("python3", "-c", zipPython, path, method, fmt.Sprint(small)).Output()
	if err != nil {
		tb.Skipf("python3 cannot pack: %v", err)
	}
	var sums map[string]string
	if err := json.Unmarshal(out, &sums); err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data, sums
}

func packedByZstd(tb testing.TB, small int) ([]byte, map[string]string) {
	tb.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	z.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor(zstd.WithEncoderConcurrency(1)))
	sums := map[string]string{}
	for i := range small {
		var data bytes.Buffer
		if err := writeText(&data, i, 4000+i%50*40_000); err != nil {
			tb.Fatal(err)
		}
		if small > 100 {
			data.Truncate(4000)
		}
		sum := md5.Sum(data.Bytes())
		sums[fmt.Sprint(i)] = hex.EncodeToString(sum[:])
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Method: zstd.ZipMethodWinZip})
		if err == nil {
			_, err = w.Write(data.Bytes())
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes(), sums
}

// Decoders are used again for the next member: after an undamaged one, and
// after a damaged one.
func TestDecodersAreUsedAgain(t *testing.T) {
	for _, method := range []string{"ZIP_BZIP2", "ZIP_LZMA", "zstd"} {
		t.Run(method, func(t *testing.T) {
			data, want := packedBy(t, method, 20)
			for range 2 {
				got, err := contents(data, archive.Zip)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				broken := bytes.Clone(data)
				for i := 500; i < len(broken)/2; i += 997 {
					broken[i] ^= 4
				}
				if _, err := contents(broken, archive.Zip); err == nil {
					t.Error("damage was not noticed")
				}
			}
		})
	}
}

// BenchmarkMembers reads many small members.
func BenchmarkMembers(b *testing.B) {
	for _, method := range []string{"ZIP_DEFLATED", "ZIP_BZIP2", "ZIP_LZMA", "zstd"} {
		b.Run(method, func(b *testing.B) {
			data, sums := packedBy(b, method, 1000)
			b.SetBytes(int64(len(sums) * 4000))
			allocated, before := allocations(), processorTime(b, syscall.RUSAGE_SELF)
			for b.Loop() {
				err := archive.Walk(context.Background(), source(data), archive.Zip, archive.DefaultLimits(), func(_ archive.Entry, r io.Reader) error {
					_, err := io.Copy(io.Discard, r)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processorTime(b, syscall.RUSAGE_SELF)-before).Seconds()*1000/float64(b.N), "ms-cpu")
			b.ReportMetric(allocated()/float64(b.N), "MiB-allocated")
		})
	}
}
