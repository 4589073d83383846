package transform

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"runtime"
	"strings"

	"golang.org/x/image/tiff"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// fileVerbs read something of many files: names, sizes, masks.
var fileVerbs = []Verb{jsonNamesVerb, imageSizeVerb, npySizeVerb, runLengthsVerb, archiveFilesVerb}

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
		out := make([]string, len(paths))
		err := eachFile(in, "json_names", paths, func(i int, f fs.File) error {
			data, err := io.ReadAll(f)
			if err != nil {
				return err
			}
			out[i], err = jsonNames(data, member, separator)
			return err
		})
		return table.FromTexts(member, out, nil), err
	},
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
