package archive

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// The limits of the search in a compressed file: the memory of the decoder, and the
// plain bytes.
const (
	maxWindow   = 128 << 20
	maxSearched = 4 << 30
)

// Search returns secret.ErrFound if a file has a secret, or if it is compressed with
// gzip or zstd and its plain bytes have one. It opens the file once, or twice.
func Search(open func() (io.ReadCloser, error), secrets *secret.Set) error {
	format, err := searchFile(open, secrets, "")
	if err == nil && format != "" {
		_, err = searchFile(open, secrets, format)
	}
	return err
}

// searchFile searches the bytes of a file, or those that it is compressed of, and
// returns the format that it begins as. What cannot be decompressed has been searched
// as it is.
func searchFile(open func() (io.ReadCloser, error), secrets *secret.Set, packed Format) (format Format, err error) {
	file, err := open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := bufio.NewReaderSize(file, 256<<10)
	head, _ := r.Peek(4)
	if format = Sniff(head); format != TarGzip && format != TarZstd {
		format = ""
	}
	guard := secret.NewGuard(secrets)
	if packed == "" {
		_, err = io.Copy(guard, r)
		return format, err
	}
	plain, done, err := decompress(r, packed, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return format, nil
	}
	defer done()
	if _, err = io.Copy(guard, io.LimitReader(plain, maxSearched)); !errors.Is(err, secret.ErrFound) {
		err = nil
	}
	return format, err
}
