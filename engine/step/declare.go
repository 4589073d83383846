package step

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/zclconf/go-cty/cty/gocty"
)

// OneOf lists the allowed strings of arguments by their names; see Attr.OneOf.
type OneOf map[string][]string

// Attrs returns the arguments that the fields of a struct declare, in their order. Args.Decode
// fills in the same struct.
//
//	type arguments struct {
//		Competition string         `cty:"competition" is:"required" doc:"Identifier of the competition."`
//		Seed        int64          `cty:"seed" doc:"An integer."`
//		Salt        *step.Artifact `cty:"salt" doc:"Secret bytes."`
//		From        *string        `cty:"from" is:"cosmetic" doc:"A folder to read instead."`
//		Network     *network       `cty:"network" block:"What the agent may reach."`
//	}
//
// The type of an argument is TypeOf its field. The values of the struct are the defaults
// of what is not required: here seed has the default 0, and salt, which is nil, has none.
// The tag is has any of the words required, cosmetic, command, block, files, bycommand and
// setting, which are the fields of Attr. The tag open is Attr.Open. The tags made, when
// and passing are the fields of Attr.Made, and the tag group is Attr.Group. A field with the
// tag block is not an argument but a block; see Blocks. An embedded struct declares the
// arguments of one concern. A wrong tag panics, since it is a programming error.
func Attrs(defaults any, oneOf OneOf) (attrs []Attr) {
	v := reflect.ValueOf(defaults)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("cty") != "" && f.Tag.Get("block") == "" {
			attrs = append(attrs, attrOf(f.Tag, v.FieldByIndex(f.Index), oneOf))
		}
	}
	return attrs
}

// Blocks returns the nested blocks that the fields of a struct declare; see Attrs. Such a
// field is a pointer to a struct that declares the block's arguments. The tag block is the
// block's documentation.
func Blocks(defaults any, oneOf OneOf) (blocks []Block) {
	v := reflect.ValueOf(defaults)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("block") == "" {
			continue
		}
		inner := v.FieldByIndex(f.Index)
		if inner.IsNil() {
			inner = reflect.New(f.Type.Elem())
		}
		blocks = append(blocks, Block{Name: f.Tag.Get("cty"), Doc: f.Tag.Get("block"), Args: Attrs(inner.Elem().Interface(), oneOf), Group: f.Tag.Get("group")})
	}
	return blocks
}

// Document sets the documentation of the arguments, blocks and outputs that declare none.
// text has a paragraph for each: its name, a colon and the documentation, in lines of any
// length. Names read "seed", "network.allow" and "output stats".
func (k *Kind) Document(text string) {
	docs := map[string]string{}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		name, doc, _ := strings.Cut(strings.Join(strings.Fields(paragraph), " "), ": ")
		docs[name] = doc
	}
	set := func(doc *string, name string) { *doc = cmp.Or(*doc, docs[name]) }
	for i := range k.Args {
		set(&k.Args[i].Doc, k.Args[i].Name)
	}
	for i := range k.Outputs {
		set(&k.Outputs[i].Doc, "output "+k.Outputs[i].Name)
	}
	for _, b := range k.Blocks {
		for i := range b.Args {
			set(&b.Args[i].Doc, b.Name+"."+b.Args[i].Name)
		}
	}
}

func attrOf(tag reflect.StructTag, value reflect.Value, oneOf OneOf) Attr {
	a := Attr{Name: tag.Get("cty"), Type: typeOf(value.Type()), Doc: tag.Get("doc"), OneOf: oneOf[tag.Get("cty")], Open: tag.Get("open"), Group: tag.Get("group")}
	words := map[string]*bool{
		"required": &a.Required, "cosmetic": &a.Cosmetic, "command": &a.Command, "block": &a.Block, "files": &a.Files,
		"bycommand": &a.ByCommand, "setting": &a.Setting,
	}
	for _, word := range strings.Fields(tag.Get("is")) {
		if words[word] == nil {
			panic(fmt.Sprintf("argument %s: %q is not a word of the tag is", a.Name, word))
		}
		*words[word] = true
	}
	if kind := tag.Get("made"); kind != "" {
		a.Made = &Made{Kind: kind, When: tag.Get("when"), Args: strings.Fields(tag.Get("passing"))}
	}
	switch kind := value.Kind(); {
	case a.Required, kind == reflect.Struct:
	case (kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map) && value.IsNil():
	default:
		var err error
		if a.Default, err = gocty.ToCtyValue(value.Interface(), a.Type); err != nil {
			panic(fmt.Sprintf("argument %s: %v", a.Name, err))
		}
	}
	return a
}
