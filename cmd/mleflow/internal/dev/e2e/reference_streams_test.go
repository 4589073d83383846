package e2e

import (
	"archive/zip"
	"bufio"
	endian "encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// writeDocuments writes products as in cdiscount-image-classification-challenge:
// a number, a category and a picture of 2,000 bytes; 2 GB are a million.
func writeDocuments(b *testing.B, dir string, n int) {
	rng := rand.New(rand.NewPCG(7, 7))
	write(b, filepath.Join(dir, "category_names.csv"), func(w *bufio.Writer) error {
		_, err := w.WriteString("category_id,category_level1\n1000010653,BOOKS\n")
		return err
	})
	write(b, filepath.Join(dir, "train.bson"), func(w *bufio.Writer) error {
		picture := make([]byte, 2000)
		for i := range picture {
			picture[i] = byte(rng.Uint32())
		}
		for i := range n {
			endian.LittleEndian.PutUint32(picture[i%1000:], uint32(i))
			if _, err := w.Write(product(i, 1000000001+rng.IntN(5000), picture)); err != nil {
				return err
			}
		}
		return nil
	})
}

// product returns {_id, category_id, imgs: [{picture}]} as BSON.
func product(id, category int, picture []byte) []byte {
	number := func(d []byte, name string, v int) []byte {
		return endian.LittleEndian.AppendUint32(append(append(append(d, 0x10), name...), 0), uint32(v))
	}
	document := func(elements []byte) []byte {
		d := endian.LittleEndian.AppendUint32(nil, uint32(len(elements)+5))
		return append(append(d, elements...), 0)
	}
	image := endian.LittleEndian.AppendUint32([]byte("\x05picture\x00"), uint32(len(picture)))
	image = append(append(image, 0), picture...)
	list := document(append([]byte("\x030\x00"), document(image)...))
	return document(append(append(number(number(nil, "_id", id), "category_id", category), "\x04imgs\x00"...), list...))
}

// writeSentences writes an archive of sentences as in billion-word-imputation;
// 2 GB are thirteen million.
func writeSentences(b *testing.B, dir string, n int) {
	rng := rand.New(rand.NewPCG(8, 8))
	words := make([]string, 5000)
	for i := range words {
		word := make([]byte, 2+rng.IntN(9))
		for k := range word {
			word[k] = byte('a' + rng.IntN(26))
		}
		words[i] = string(word)
	}
	words[0], words[1], words[2] = "\"", "é", ","
	write(b, filepath.Join(dir, "train_v2.txt.zip"), func(w *bufio.Writer) error {
		z := zip.NewWriter(w)
		member, err := z.Create("train_v2.txt")
		if err != nil {
			return err
		}
		var line []byte
		for range n {
			line = line[:0]
			for range 1 + rng.IntN(45) {
				line = append(append(line, words[int(float64(len(words))*rng.Float64()*rng.Float64())]...), ' ')
			}
			if _, err := member.Write(append(line, ".\n"...)); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// write makes a file.
func write(b *testing.B, path string, fill func(*bufio.Writer) error) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := fill(w); err != nil {
		b.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
