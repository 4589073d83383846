package transform

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var tfrecordTextsVerb = Verb{
	Name: "tfrecord_texts", Params: []string{"paths", "feature"},
	Summary: "A string feature of every record in TensorFlow record files, file after file.",
	Detail:  "It is the first bytes value of the feature of a tf.train.Example. A record without it, or with a wrong checksum, is an error.",
	Source:  "tf.data.TFRecordDataset, tf.train.Example.FromString",
	Func: func(in *Input, paths []string, feature string) (*table.Column, error) {
		var texts []string
		for _, path := range paths {
			f, err := in.Raw.Open(path)
			if err != nil {
				return nil, fmt.Errorf("tfrecord_texts: %w", err)
			}
			err = eachTFRecord(f, func(record []byte) error {
				text, err := exampleText(record, feature)
				texts = append(texts, text)
				return err
			})
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, fmt.Errorf("tfrecord_texts %s: record %d: %w", path, len(texts), err)
			}
		}
		return table.FromTexts(feature, texts, nil), nil
	},
}

// maxTFRecord bounds one record, so that a wrong length asks for no memory.
const maxTFRecord = 1 << 30

// eachTFRecord visits the records of a file: length, its checksum, data, its
// checksum, all little-endian.
func eachTFRecord(f io.Reader, visit func([]byte) error) error {
	r := bufio.NewReaderSize(f, 1<<20)
	var head [12]byte
	var data []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		size := binary.LittleEndian.Uint64(head[:])
		if maskedCRC(head[:8]) != binary.LittleEndian.Uint32(head[8:]) || size > maxTFRecord {
			return errors.New("a record length has a wrong checksum")
		}
		if int(size)+4 > cap(data) {
			data = make([]byte, size+4)
		}
		data = data[:size+4]
		if _, err := io.ReadFull(r, data); err != nil {
			return fmt.Errorf("cut short: %w", err)
		}
		if maskedCRC(data[:size]) != binary.LittleEndian.Uint32(data[size:]) {
			return errors.New("a record has a wrong checksum")
		}
		if err := visit(data[:size]); err != nil {
			return err
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func maskedCRC(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// exampleText returns the first bytes value of a feature of a tf.train.Example.
func exampleText(record []byte, feature string) (string, error) {
	var text []byte
	found := false
	err := eachFeature(record, func(name string, f Feature) error {
		if name != feature {
			return nil
		}
		return f.eachBytes(func(b []byte) {
			if !found {
				text, found = b, true
			}
		})
	})
	if err == nil && !found {
		err = fmt.Errorf("it has no feature %q with bytes", feature)
	}
	return string(text), err
}

// eachFeature visits the features of a tf.train.Example: features (1) hold map entries
// (1) of name (1) and feature (2).
func eachFeature(record []byte, visit func(name string, f Feature) error) error {
	return eachField(record, 1, func(features []byte) error {
		return eachField(features, 1, func(entry []byte) error {
			var name, value []byte
			if err := eachField(entry, 1, func(b []byte) error { name = b; return nil }); err != nil {
				return err
			}
			if err := eachField(entry, 2, func(b []byte) error { value = b; return nil }); err != nil {
				return err
			}
			return visit(string(name), value)
		})
	})
}

// eachField visits the length-delimited fields of that number in a protocol
// buffer message.
func eachField(message []byte, number protowire.Number, visit func([]byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errExample
		}
		value := message[n:]
		if n = protowire.ConsumeFieldValue(field, kind, value); n < 0 {
			return errExample
		}
		if field == number && kind == protowire.BytesType {
			data, _ := protowire.ConsumeBytes(value)
			if err := visit(data); err != nil {
				return err
			}
		}
		message = value[n:]
	}
	return nil
}

var errExample = errors.New("not a tf.train.Example")

// ScanExamples visits the features of every tf.train.Example in a TensorFlow
// record file by name; features are valid during the call only.
func ScanExamples(f io.Reader, visit func(features map[string]Feature) error) error {
	return eachTFRecord(f, func(record []byte) error {
		features := map[string]Feature{}
		err := eachFeature(record, func(name string, f Feature) error {
			features[name] = f
			return nil
		})
		if err != nil {
			return err
		}
		return visit(features)
	})
}

// Feature is an encoded tf.train.Feature.
type Feature []byte

// eachBytes visits the values (1) of the feature's bytes lists (1).
func (f Feature) eachBytes(visit func([]byte)) error {
	return eachField(f, 1, func(list []byte) error {
		return eachField(list, 1, func(b []byte) error { visit(b); return nil })
	})
}

// Text returns the feature's first bytes value; "" without one.
func (f Feature) Text() (text string) {
	_ = f.eachBytes(func(b []byte) { text = cmp.Or(text, string(b)) })
	return text
}
