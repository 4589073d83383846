package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/mleflow/mleflow/plugins/data/table/bson"
)

// productBSON is a document of Cdiscount's files: a product with its pictures. A category
// of 0 is left out.
type productBSON struct {
	id, category int32
	pictures     [][]byte
}

// append writes the document: integers of 32 bits, and an array of documents with one
// binary value each.
func (p productBSON) append(to []byte) []byte {
	integer := func(dst []byte, name string, v int32) []byte {
		return binary.LittleEndian.AppendUint32(append(append(append(dst, byte(bson.Int32)), name...), 0), uint32(v)) //nolint:gosec // the same bits
	}
	wrapped := func(body []byte) []byte {
		return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body)+5)), body...), 0) //nolint:gosec // a few kilobytes
	}
	body := integer(nil, "_id", p.id)
	if p.category != 0 {
		body = integer(body, "category_id", p.category)
	}
	var list []byte
	for i, picture := range p.pictures {
		item := append([]byte{byte(bson.Binary)}, "picture\x00"...)
		item = binary.LittleEndian.AppendUint32(item, uint32(len(picture))) //nolint:gosec // a few kilobytes
		item = append(append(item, 0), picture...)
		list = append(append(append(list, byte(bson.Embedded)), itoa(i)+"\x00"...), wrapped(item)...)
	}
	body = append(append(body, byte(bson.Array)), "imgs\x00"...)
	return append(to, wrapped(append(body, wrapped(list)...))...)
}

// productsBSON reads a file of such documents.
func productsBSON(data []byte) (all []productBSON) {
	r := bson.NewReader(bytes.NewReader(data))
	for {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(err)
		var p productBSON
		must(d.Each(func(e bson.Element) error {
			v, _ := e.Int()
			switch string(e.Name) {
			case "_id":
				p.id = int32(v) //nolint:gosec // written as one
			case "category_id":
				p.category = int32(v) //nolint:gosec // written as one
			case "imgs":
				return bson.Document(e.Value).Each(func(e bson.Element) error {
					return bson.Document(e.Value).Each(func(e bson.Element) error {
						p.pictures = append(p.pictures, bytes.Clone(e.Value[5:]))
						return nil
					})
				})
			}
			return nil
		}))
		all = append(all, p)
	}
}
