package mask

import (
	"bufio"
	"encoding/binary"
	"io"
	"slices"
)

// pngText are the chunks of a PNG file that say something about it and do not
// change a pixel.
var pngText = []string{"tEXt", "zTXt", "iTXt", "tIME", "eXIf"}

// stripped copies a PNG or JPEG file without texts, times and EXIF data. From
// where a file is malformed it is copied as it is.
func stripped(w io.Writer, r *bufio.Reader) error {
	head, _ := r.Peek(8)
	var err error
	switch {
	case string(head) == "\x89PNG\r\n\x1a\n":
		err = stripPNG(w, r)
	case len(head) >= 2 && head[0] == 0xff && head[1] == 0xd8:
		err = stripJPEG(w, r)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}

func stripPNG(w io.Writer, r *bufio.Reader) error {
	if _, err := io.CopyN(w, r, 8); err != nil {
		return err
	}
	for {
		head, err := r.Peek(8)
		if err != nil {
			return nil // what is left is copied
		}
		size := int64(binary.BigEndian.Uint32(head)) + 12
		to := w
		if slices.Contains(pngText, string(head[4:])) {
			to = io.Discard
		}
		if _, err := io.CopyN(to, r, size); err != nil {
			return ignoreEOF(err)
		}
	}
}

// stripJPEG copies the segments before the first scan but comments and
// application data; JFIF (APP0), colour profiles (APP2) and Adobe's colour
// transform (APP14), which change pixels, stay.
func stripJPEG(w io.Writer, r *bufio.Reader) error {
	if _, err := io.CopyN(w, r, 2); err != nil {
		return err
	}
	for {
		head, err := r.Peek(4)
		if err != nil || head[0] != 0xff || head[1] == 0xff || head[1] == 0xda {
			return nil
		}
		marker := head[1]
		text := marker == 0xfe || marker >= 0xe1 && marker <= 0xef && marker != 0xe2 && marker != 0xee
		to := w
		if text {
			to = io.Discard
		}
		if _, err := io.CopyN(to, r, int64(binary.BigEndian.Uint16(head[2:]))+2); err != nil {
			return ignoreEOF(err)
		}
	}
}
