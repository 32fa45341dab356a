package forms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// formSchema is a JSON object whose keywords are read one by one, by their exact names. It keeps its members in the order of the
// text, and the first fault in err, which is checked after all keywords were read.
type formSchema struct {
	names  []string
	values map[string]json.RawMessage
	err    error
}

// readSchema reads an object. A member that is there twice is a fault.
func readSchema(raw json.RawMessage) *formSchema {
	s := &formSchema{values: map[string]json.RawMessage{}}
	if jsonrpc.Check(raw) != nil || !jsonrpc.IsObject(raw) {
		s.err = errors.New("want a JSON object")
		return s
	}
	_ = jsonrpc.Members(raw, func(key, value []byte) { // it was checked
		name := string(key)
		if s.values[name] != nil && s.err == nil {
			s.err = fmt.Errorf("%q appears twice", excerpt.Cut(name))
		}
		s.names = append(s.names, name)
		s.values[name] = value
	})
	return s
}

// noteFault records the expected value of a keyword, unless there is an earlier fault.
func (s *formSchema) noteFault(keyword, want string) {
	if s.err == nil {
		s.err = fmt.Errorf("%s: want %s", keyword, want)
	}
}

// noteInnerFault records the fault of a schema inside this one.
func (s *formSchema) noteInnerFault(keyword string, inner *formSchema) {
	if s.err == nil && inner.err != nil {
		s.err = fmt.Errorf("%s: %w", keyword, inner.err)
	}
}

// has reports whether a keyword is there; null counts as absent.
func (s *formSchema) has(keyword string) bool {
	raw, ok := s.values[keyword]
	return ok && string(raw) != "null"
}

// read decodes the value of a keyword, if it is there. want describes the expected value.
func (s *formSchema) read(keyword, want string, into any) {
	if s.has(keyword) && json.Unmarshal(s.values[keyword], into) != nil {
		s.noteFault(keyword, want)
	}
}

func (s *formSchema) text(keyword string) (text string) {
	s.read(keyword, "a string", &text)
	return text
}

func (s *formSchema) number(keyword string) (n *float64) {
	s.read(keyword, "a number", &n)
	return n
}

// count reads a whole number from 0; nil means none.
func (s *formSchema) count(keyword string) *float64 {
	n := s.number(keyword)
	if n != nil && (*n != math.Trunc(*n) || *n < 0) {
		s.noteFault(keyword, "a whole number, at least 0")
	}
	return n
}

// texts returns the value of a keyword that is a list of strings.
func (s *formSchema) texts(keyword string) []string {
	var items []*string
	s.read(keyword, "a list of strings", &items)
	texts := make([]string, 0, len(items))
	for _, item := range items {
		if item == nil {
			s.noteFault(keyword, "a list of strings")
			return nil
		}
		texts = append(texts, *item)
	}
	return texts
}

// options reads the choices in any of the forms that revisions have: enum, enum with enumNames, and
// oneOf or anyOf with const and title. No choice, too many, and the same value twice are faults.
func (s *formSchema) options() []Option {
	if typ := s.text("type"); s.has("type") && typ != "string" {
		s.noteFault("type", "string; the options are")
	}
	var options []Option
	for _, keyword := range []string{"enum", "oneOf", "anyOf"} {
		switch {
		case !s.has(keyword):
		case options != nil:
			s.noteFault(keyword, "no second list of options")
		case keyword == "enum":
			options = s.enum()
		default:
			options = s.constants(keyword)
		}
	}
	if len(options) == 0 || len(options) > maxFieldOptions {
		s.noteFault("options", fmt.Sprintf("1 to %d in enum, oneOf or anyOf", maxFieldOptions))
	}
	seen := map[string]bool{}
	for _, o := range options {
		if seen[o.Value] {
			s.noteFault("options", fmt.Sprintf("%q only once", excerpt.Cut(o.Value)))
		}
		seen[o.Value] = true
	}
	return options
}

// enum reads choices whose titles may be in enumNames.
func (s *formSchema) enum() []Option {
	values, titles := s.texts("enum"), s.texts("enumNames")
	if len(titles) == 0 {
		titles = values
	}
	if len(titles) != len(values) {
		s.noteFault("enumNames", "as many as enum has")
		return nil
	}
	options := make([]Option, len(values))
	for i, value := range values {
		options[i] = Option{Value: value, Title: cmp.Or(titles[i], value)}
	}
	return options
}

// constants reads choices that are schemas with a const and a title.
func (s *formSchema) constants(keyword string) []Option {
	var items []json.RawMessage
	s.read(keyword, "a list of options", &items)
	options := make([]Option, 0, len(items))
	for _, item := range items {
		o := readSchema(item)
		value, title := o.text("const"), o.text("title")
		if o.err != nil || !o.has("const") {
			s.noteFault(keyword, "options with a const, and a title, that are strings")
			return nil
		}
		options = append(options, Option{Value: value, Title: cmp.Or(title, value)})
	}
	return options
}
