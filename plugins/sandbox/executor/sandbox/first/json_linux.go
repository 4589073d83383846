package first

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Plan, messages and report are JSON, which the owner reads and writes with encoding/json.
// That package is initialised after many others. This file has what the first process
// needs of it.

var errPlan = errors.New("not the JSON of an owner")

// decoder decodes what json.Marshal encoded.
type decoder struct{ text []byte }

// decode decodes a value into what to points to. It ignores fields that it does not know.
func decode(text []byte, to any) error {
	return (&decoder{text}).value(reflect.ValueOf(to).Elem())
}

// next skips c, if it comes next.
func (d *decoder) next(c byte) bool {
	if len(d.text) == 0 || d.text[0] != c {
		return false
	}
	d.text = d.text[1:]
	return true
}

// value decodes a value into v, or skips it if v is none.
func (d *decoder) value(v reflect.Value) error {
	if len(d.text) == 0 {
		return errPlan
	}
	switch d.text[0] {
	case '{':
		return d.object(v)
	case '[':
		return d.list(v)
	case '"':
		s, err := d.string()
		if err != nil || !v.IsValid() {
			return err
		}
		return setString(v, s)
	}
	end := bytes.IndexAny(d.text, ",]}")
	if end < 0 {
		end = len(d.text)
	}
	word := string(d.text[:end])
	d.text = d.text[end:]
	switch {
	case word == "":
		return errPlan
	case !v.IsValid() || word == "null":
		return nil
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(word == "true")
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(word, 10, 64)
		v.SetInt(n)
		return err
	}
	return fmt.Errorf("%w: %s for a %v", errPlan, word, v.Type())
}

func (d *decoder) object(v reflect.Value) error {
	d.next('{')
	isMap := v.IsValid() && v.Kind() == reflect.Map
	switch {
	case isMap:
		v.Set(reflect.MakeMap(v.Type()))
	case v.IsValid() && v.Kind() != reflect.Struct:
		return fmt.Errorf("%w: an object for a %v", errPlan, v.Type())
	}
	for !d.next('}') {
		name, err := d.string()
		if err != nil || !d.next(':') {
			return errors.Join(errPlan, err)
		}
		var field reflect.Value
		switch {
		case isMap:
			field = reflect.New(v.Type().Elem()).Elem()
		case v.IsValid():
			field = v.FieldByNameFunc(func(own string) bool { return bytes.EqualFold([]byte(own), []byte(name)) })
		}
		if err := d.value(field); err != nil {
			return err
		}
		if isMap {
			v.SetMapIndex(reflect.ValueOf(name), field)
		}
		d.next(',')
	}
	return nil
}

func (d *decoder) list(v reflect.Value) error {
	d.next('[')
	if v.IsValid() && v.Kind() != reflect.Slice {
		return fmt.Errorf("%w: a list for a %v", errPlan, v.Type())
	}
	for !d.next(']') {
		var element reflect.Value
		if v.IsValid() {
			element = reflect.New(v.Type().Elem()).Elem()
		}
		if err := d.value(element); err != nil {
			return err
		}
		if v.IsValid() {
			v.Set(reflect.Append(v, element))
		}
		d.next(',')
	}
	return nil
}

// string decodes a string. The escapes that json.Marshal uses are Go's, too.
func (d *decoder) string() (string, error) {
	for i := 1; i < len(d.text); i++ {
		switch d.text[i] {
		case '\\':
			i++
		case '"':
			quoted := string(d.text[:i+1])
			d.text = d.text[i+1:]
			return strconv.Unquote(quoted)
		}
	}
	return "", errPlan
}

func setString(v reflect.Value, s string) (err error) {
	switch v.Interface().(type) {
	case Text:
		s, err = strconv.Unquote(s)
	case []byte:
		var data []byte
		data, err = base64.StdEncoding.DecodeString(s)
		v.SetBytes(data)
		return err
	}
	if v.Kind() != reflect.String {
		return fmt.Errorf("%w: a string for a %v", errPlan, v.Type())
	}
	v.SetString(s)
	return err
}

// encode appends the JSON of a message or report.
func encode(out []byte, v reflect.Value) []byte {
	if t, ok := v.Interface().(time.Time); ok {
		return append(t.AppendFormat(append(out, '"'), time.RFC3339Nano), '"')
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(out, "null"...)
		}
		return encode(out, v.Elem())
	case reflect.Bool:
		return strconv.AppendBool(out, v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(out, v.Int(), 10)
	case reflect.String:
		return quote(out, v.String())
	case reflect.Slice:
		for i := range v.Len() {
			out = encode(append(out, "[,"[min(i, 1)]), v.Index(i))
		}
		if v.Len() == 0 {
			out = append(out, '[')
		}
		return append(out, ']')
	case reflect.Map:
		out = append(out, '{')
		for i, key := range v.MapKeys() {
			if i > 0 {
				out = append(out, ',')
			}
			out = encode(append(quote(out, key.String()), ':'), v.MapIndex(key))
		}
		return append(out, '}')
	}
	out = append(out, '{')
	for i := range v.NumField() {
		if i > 0 {
			out = append(out, ',')
		}
		out = encode(append(quote(out, v.Type().Field(i).Tag.Get("json")), ':'), v.Field(i))
	}
	return append(out, '}')
}

func quote(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}
