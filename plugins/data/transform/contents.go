package transform

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/image/tiff"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// eachFile calls read for every file, several at once, and returns the error
// of the first one that fails. Not more than one file a processor is open.
func eachFile(in *Input, verb string, paths []string, read func(i int, f fs.File) error) error {
	errs := make([]error, len(paths))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		if in.Context != nil && in.Context.Err() != nil {
			errs[i] = in.Context.Err()
			break
		}
		group.Go(func() error {
			f, err := in.Raw.Open(path)
			if err == nil {
				err = errors.Join(read(i, f), f.Close())
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s %s: %w", verb, path, err)
			}
			return errs[i]
		})
	}
	_ = group.Wait()
	return cmp.Or(errs...)
}

var jsonNamesVerb = Verb{
	Name: "json_names", Params: []string{"paths", "member", "separator"},
	Summary: "For each JSON file, the names of one object's members in order, joined into a string.",
	Detail:  "member names that object in the file's top-level object. Only the names are held in memory.",
	Source:  "separator.join(json.load(file)[member].keys())",
	Func: func(in *Input, paths []string, member, separator string) (*table.Column, error) {
		return textOfEach(in, "json_names", paths, member, func(data []byte) (string, error) { return jsonNames(data, member, separator) })
	},
}

// textOfEach returns a column of what read makes of the content of every file.
func textOfEach(in *Input, verb string, paths []string, column string, read func(data []byte) (string, error)) (*table.Column, error) {
	out := make([]string, len(paths))
	err := eachFile(in, verb, paths, func(i int, f fs.File) error {
		data, err := io.ReadAll(f)
		if err == nil {
			out[i], err = read(data)
		}
		return err
	})
	return table.FromTexts(column, out, nil), err
}

func jsonNames(data []byte, member, separator string) (string, error) {
	v, err := pyjson.Parse(data)
	if err != nil {
		return "", err
	}
	object, ok := v.Get(member)
	if !ok || object.Kind() != pyjson.Object {
		return "", fmt.Errorf("there is no object %q", member)
	}
	// A string of its own: one that shared memory would keep the whole file.
	return strings.Clone(strings.Join(object.Names(), separator)), nil
}

var imageSizeVerb = Verb{
	Name: "image_size", Params: []string{"paths"},
	Summary: "The sizes in pixels of PNG, JPEG, GIF and TIFF images: a table of path, width and height.",
	Detail:  "Only headers are read.",
	Source:  "PIL.Image.open(path).size",
	Func: func(in *Input, paths []string) (*table.Table, error) {
		width, height := make([]int64, len(paths)), make([]int64, len(paths))
		err := eachFile(in, "image_size", paths, func(i int, f fs.File) error {
			size, err := imageConfig(f)
			width[i], height[i] = int64(size.Width), int64(size.Height)
			return err
		})
		if err != nil {
			return nil, err
		}
		return table.New(table.FromTexts("path", paths, nil), table.FromInts("width", width), table.FromInts("height", height))
	},
}

// imageHeads pairs the first bytes of image formats with the readers of their headers.
var imageHeads = []struct {
	magic  string
	config func(io.Reader) (image.Config, error)
}{
	{"\x89PNG\r\n\x1a\n", png.DecodeConfig}, {"\xff\xd8", jpeg.DecodeConfig}, {"GIF8", gif.DecodeConfig},
	{"II*\x00", tiff.DecodeConfig}, {"MM\x00*", tiff.DecodeConfig},
}

func imageConfig(f fs.File) (image.Config, error) {
	head := make([]byte, 8)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return image.Config{}, err
	}
	for _, h := range imageHeads {
		if !strings.HasPrefix(string(head[:n]), h.magic) {
			continue
		}
		if at, ok := f.(io.ReaderAt); ok {
			return h.config(io.NewSectionReader(at, 0, 1<<62))
		}
		return h.config(io.MultiReader(strings.NewReader(string(head[:n])), f))
	}
	return image.Config{}, errors.New("not a PNG, JPEG, GIF or TIFF image")
}

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
		return textOfEach(in, "run_lengths", paths, "runs", maskRuns)
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
	return runText(data[a.start:], one, a.columnMajor), nil
}

// runText walks elements in the given order.
func runText(elements, one []byte, walk iter.Seq[int]) string {
	var text []byte
	run, i := 0, 0
	end := func() {
		if run > 0 {
			if text != nil {
				text = append(text, ' ')
			}
			text = strconv.AppendInt(text, int64(i-run+1), 10)
			text = strconv.AppendInt(append(text, ' '), int64(run), 10)
		}
		run = 0
	}
	for at := range walk {
		if bytes.Equal(elements[at*len(one):(at+1)*len(one)], one) {
			run++
		} else {
			end()
		}
		i++
	}
	end()
	return string(text)
}

// columnMajor walks the places of the elements, the first axis running fastest.
func (a *Array) columnMajor(yield func(at int) bool) {
	stride, step := make([]int, len(a.Shape)), 1
	for k := range stride {
		if !a.fortran {
			k = len(stride) - 1 - k
		}
		stride[k] = step
		step *= a.Shape[k]
	}
	var walk func(axes, at int) bool
	walk = func(axes, at int) bool {
		if axes == 0 {
			return yield(at)
		}
		for n := range a.Shape[axes-1] {
			if !walk(axes-1, at+n*stride[axes-1]) {
				return false
			}
		}
		return true
	}
	walk(len(stride), 0)
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
