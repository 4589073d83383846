package transform

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var npySizeVerb = Verb{
	Name: "npy_size", Params: []string{"paths", "axis"},
	Summary: "The sizes of arrays in .npy files along an axis: 0 is the first, -1 the last.",
	Detail:  "Only headers are read; each file must be long enough for its array.",
	Source:  "numpy.load(path).shape[axis]",
	Func: func(in *Input, paths []string, axis int) (*table.Column, error) {
		out := make([]int64, len(paths))
		err := eachFile(in, "npy_size", paths, func(i int, f fs.File) error {
			shape, err := npyShape(f)
			if err != nil {
				return err
			}
			at := axis
			if at < 0 {
				at += len(shape)
			}
			if at < 0 || at >= len(shape) {
				return fmt.Errorf("the array has %d axes", len(shape))
			}
			out[i] = int64(shape[at])
			return nil
		})
		return table.FromInts("size", out), err
	},
}

func npyShape(f fs.File) ([]int, error) {
	at, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	if err == nil && !ok {
		var data []byte
		data, err = io.ReadAll(f)
		at = bytes.NewReader(data)
	}
	if err != nil {
		return nil, err
	}
	a := Array{data: at}
	err = a.readHeader(info.Size())
	return a.Shape, err
}

var runLengthsVerb = Verb{
	Name: "run_lengths", Params: []string{"paths"},
	Summary: `The masks in .npy files as run lengths: for each file a string of "start length" pairs of runs of ones, from 1.`,
	Detail:  "Elements count down the first axis, then along the next: column by column. Other values than 1 are background; without ones the string is empty. Integers, booleans or floats, in C or Fortran order.",
	Source:  "the starts and lengths of the runs in (numpy.load(path) == 1).flatten(\"F\")",
	Func: func(in *Input, paths []string) (*table.Column, error) {
		out := make([]string, len(paths))
		err := eachFile(in, "run_lengths", paths, func(i int, f fs.File) error {
			data, err := io.ReadAll(f)
			if err != nil {
				return err
			}
			out[i], err = maskRuns(data)
			return err
		})
		return table.FromTexts("runs", out, nil), err
	},
}

// maskRuns returns the run lengths of the mask in a .npy file.
func maskRuns(data []byte) (string, error) {
	a := Array{data: bytes.NewReader(data)}
	if err := a.readHeader(int64(len(data))); err != nil {
		return "", err
	}
	one, err := oneOf(a.Descr)
	if err != nil {
		return "", err
	}
	count := 1
	for _, n := range a.Shape {
		if n != 0 && count > math.MaxInt32/n {
			return "", fmt.Errorf("an array of shape %v is not a mask", a.Shape)
		}
		count *= n
	}
	return runText(data[a.start:], one, a.columnMajor(count)), nil
}

// runText walks elements in the given order.
func runText(elements, one []byte, next func() (at int, ok bool)) string {
	var text []byte
	run := 0
	end := func(i int) {
		if run > 0 {
			if text != nil {
				text = append(text, ' ')
			}
			text = strconv.AppendInt(text, int64(i-run+1), 10)
			text = strconv.AppendInt(append(text, ' '), int64(run), 10)
		}
		run = 0
	}
	i := 0
	for at, ok := next(); ok; at, ok = next() {
		if bytes.Equal(elements[at*len(one):(at+1)*len(one)], one) {
			run++
		} else {
			end(i)
		}
		i++
	}
	end(i)
	return string(text)
}

// columnMajor returns the places of the elements, the first axis running
// fastest.
func (a *Array) columnMajor(count int) func() (int, bool) {
	index, stride := make([]int, len(a.Shape)), make([]int, len(a.Shape))
	step := 1
	for k := range stride {
		if !a.fortran {
			k = len(stride) - 1 - k
		}
		stride[k] = step
		step *= a.Shape[k]
	}
	at, left := 0, count
	return func() (int, bool) {
		if left == 0 {
			return 0, false
		}
		left--
		this := at
		for k := range index {
			index[k]++
			at += stride[k]
			if index[k] < a.Shape[k] {
				break
			}
			at -= stride[k] * index[k]
			index[k] = 0
		}
		return this, true
	}
}

// oneOf returns the bytes of 1 of an element type.
func oneOf(descr string) ([]byte, error) {
	switch kind := descr[1:]; kind {
	case "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8":
		size := int(kind[1] - '0')
		return binary.LittleEndian.AppendUint64(nil, 1)[:size], nil
	case "f2":
		return []byte{0, 0x3c}, nil
	case "f4":
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(1)), nil
	case "f8":
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(1)), nil
	}
	return nil, fmt.Errorf("element type %q is not supported for a mask", descr)
}
