package e2e

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/competitions"
)

// The generators write as they go: what this process holds in memory would
// count as the peak of the processes that it starts.

// lines writes n lines to a file, each made by line, after a header.
func lines(b *testing.B, path, header string, n int, line func(dst []byte, i int) []byte) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(writeLines(f, header, n, line), f.Close()); err != nil {
		b.Fatal(err)
	}
}

func writeLines(dst io.Writer, header string, n int, line func(dst []byte, i int) []byte) error {
	w := bufio.NewWriterSize(dst, 1<<16)
	fmt.Fprintln(w, header)
	var text []byte
	for i := range n {
		text = append(line(text[:0], i), '\n')
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Flush()
}

// writeTaxi writes rides like those of new-york-city-taxi-fare-prediction;
// half of the coordinates have as many digits as a double takes.
func writeTaxi(b *testing.B, dir string, n int) {
	rng := rand.New(rand.NewPCG(1, 1))
	coordinate := func(dst []byte, at float64) []byte {
		if x := at + rng.NormFloat64()/30; rng.IntN(2) == 0 {
			return strconv.AppendFloat(append(dst, ','), x, 'f', 6, 64)
		} else {
			return strconv.AppendFloat(append(dst, ','), x, 'f', -1, 64)
		}
	}
	const header = "key,fare_amount,pickup_datetime,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,passenger_count"
	n = max(n, 20_000) // the test part alone has 9,914
	lines(b, filepath.Join(dir, "train.csv"), header, n, func(dst []byte, i int) []byte {
		day, second := i%28+1, rng.IntN(86400)
		at := fmt.Sprintf("20%02d-%02d-%02d %02d:%02d:%02d", 9+i%7, i%12+1, day, second/3600, second/60%60, second%60)
		dst = fmt.Appendf(dst, "%s.%07d,", at, i)
		dst = strconv.AppendFloat(dst, 2.5+float64(rng.IntN(500))/10, 'f', -1, 64)
		dst = append(append(append(dst, ','), at...), " UTC"...)
		for _, c := range []float64{-73.98, 40.75, -73.97, 40.76} {
			dst = coordinate(dst, c)
		}
		return strconv.AppendInt(append(dst, ','), int64(rng.IntN(6)+1), 10)
	})
	if err := os.WriteFile(filepath.Join(dir, "GCP-Coupons-Instructions.rtf"), []byte("{}"), 0o644); err != nil {
		b.Fatal(err)
	}
}

// writeTokens writes a packed table of tokens in sentences of about 13, like
// that of text-normalization-challenge-english-language.
func writeTokens(b *testing.B, dir string, n int) {
	rng := rand.New(rand.NewPCG(2, 2))
	words := make([]string, 5000)
	for i := range words {
		word := make([]byte, 2+rng.IntN(9))
		for j := range word {
			word[j] = byte('a' + rng.IntN(26))
		}
		words[i] = string(word)
	}
	f, err := os.Create(filepath.Join(dir, "en_train.csv.zip"))
	if err != nil {
		b.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("en_train.csv")
	if err != nil {
		b.Fatal(err)
	}
	sentence, token := 0, 0
	err = writeLines(w, `"sentence_id","token_id","class","before","after"`, n, func(dst []byte, i int) []byte {
		if token++; rng.IntN(13) == 0 {
			sentence, token = sentence+1, 0
		}
		before, class := words[rng.IntN(len(words))], "PLAIN"
		after := before
		switch rng.IntN(20) {
		case 0:
			before, class, after = strconv.Itoa(1900+rng.IntN(120)), "DATE", "nineteen hundred and something"
		case 1, 2:
			before, class, after = `,`, "PUNCT", `,`
		case 3:
			before, class, after = `""`, "PUNCT", `""`
		}
		return fmt.Appendf(dst, `%d,%d,"%s","%s","%s"`, sentence, token, class, before, after)
	})
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		b.Fatal(err)
	}
}

// writeImages writes labels and as many files of 4 KiB as labels, like
// histopathologic-cancer-detection's, and a quarter as many test files, which
// are only counted.
func writeImages(b *testing.B, dir string, n int) {
	rng := rand.New(rand.NewPCG(3, 3))
	pixels := make([]byte, 4096)
	for _, half := range []string{"train", "test"} {
		if err := os.Mkdir(filepath.Join(dir, half), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	lines(b, filepath.Join(dir, "train_labels.csv"), "id,label", n, func(dst []byte, i int) []byte {
		id := fmt.Sprintf("%016x%016x%08x", rng.Uint64(), rng.Uint64(), i)
		copy(pixels, id)
		if err := os.WriteFile(filepath.Join(dir, "train", id+".tif"), pixels, 0o644); err != nil {
			b.Fatal(err)
		}
		return fmt.Appendf(dst, "%s,%d", id, rng.IntN(2))
	})
	for i := range n / 4 {
		if err := os.WriteFile(filepath.Join(dir, "test", fmt.Sprint(i)+".tif"), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// writeProbabilities writes answers of two classes and probabilities in
// another order.
func writeProbabilities(b *testing.B, answers, submission string, n int) {
	rng := rand.New(rand.NewPCG(4, 4))
	lines(b, answers, "id,has_cactus", n, func(dst []byte, i int) []byte { return fmt.Appendf(dst, "%032x.jpg,%d", i, i*7%5/3) })
	lines(b, submission, "id,has_cactus", n, func(dst []byte, i int) []byte {
		i = n - 1 - i
		return strconv.AppendFloat(fmt.Appendf(dst, "%032x.jpg,", i), min(1, rng.Float64()/2+float64(i*7%5/3)/4), 'f', -1, 64)
	})
}

// writeClasses writes answers of seven classes and guesses of which one in ten
// is wrong.
func writeClasses(b *testing.B, answers, submission string, n int) {
	lines(b, answers, "Id,Cover_Type", n, func(dst []byte, i int) []byte { return fmt.Appendf(dst, "%d,%d", i, i*31%7+1) })
	lines(b, submission, "Id,Cover_Type", n, func(dst []byte, i int) []byte {
		i = n - 1 - i
		class := i*31%7 + 1
		if i%10 == 0 {
			class = i%7 + 1
		}
		return fmt.Appendf(dst, "%d,%d", i, class)
	})
}

// writeDistributions writes one-hot answers of the 120 breeds of
// dog-breed-identification, and probabilities.
func writeDistributions(b *testing.B, answers, submission string, n int) {
	rng := rand.New(rand.NewPCG(5, 5))
	breeds, header := 120, breedHeader(b)
	weights := make([]float64, breeds)
	lines(b, answers, header, n, func(dst []byte, i int) []byte {
		dst = fmt.Appendf(dst, "%032x", i)
		for c := range breeds {
			dst = append(dst, ',', '0')
			if c == i*37%breeds {
				dst[len(dst)-1] = '1'
			}
		}
		return dst
	})
	lines(b, submission, header, n, func(dst []byte, i int) []byte {
		sum := 0.0
		for c := range weights {
			weights[c] = rng.Float64()
			if c == i*37%breeds {
				weights[c] *= 30
			}
			sum += weights[c]
		}
		dst = fmt.Appendf(dst, "%032x", i)
		for _, w := range weights {
			dst = strconv.AppendFloat(append(dst, ','), w/sum, 'f', 9, 64)
		}
		return dst
	})
}

// breedHeader is the header of the competition's files.
func breedHeader(b *testing.B) string {
	catalog, err := competitions.Shipped()
	if err != nil {
		b.Fatal(err)
	}
	def, err := catalog.Get("dog-breed-identification")
	if err != nil {
		b.Fatal(err)
	}
	f, err := def.Folder().Open("classes.txt")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	header := "id"
	for scan := bufio.NewScanner(f); scan.Scan(); {
		header += "," + scan.Text()
	}
	return header
}
