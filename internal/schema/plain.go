package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// plain checks JSON text in one pass by the rules of a subschema that has only simple keywords.
// Whatever it accepts, the validator accepts, too. It does not know about the rest: for example, it
// accepts only objects whose members are all described.
type plain struct {
	types     kinds           // 0 for any
	values    map[string]bool // the JSON of the enumerated values, nil for any
	minimum   *int64          // bounds of integers
	maximum   *int64
	length    extent // length of strings, in characters
	itemCount extent // number of items of arrays
	items     *plain // rules of items; nil if they are not plain, and with anyItems
	anyItems  bool   // items have no rules
	members   map[string]member
	required  uint64 // the bits of required members
}

// member is a property of an object.
type member struct {
	bit   uint64
	rules *plain // nil for rules that are not plain
}

// extent bounds a number of parts.
type extent struct{ min, max int }

// has reports whether n is within the bounds.
func (e extent) has(n int) bool { return n >= e.min && (e.max < 0 || n <= e.max) }

// kinds is a set of types.
type kinds uint8

const (
	aString kinds = 1 << iota
	anInteger
	aNumber
	aBoolean
	anObject
	anArray
	aNull
)

var kindOf = map[string]kinds{
	"string": aString, "integer": anInteger, "number": anInteger | aNumber, "boolean": aBoolean,
	"object": anObject, "array": anArray, "null": aNull,
}

// maxMembers bounds the properties of a plain object.
const maxMembers = 64

// newPlain returns the rules of a schema that [Decode] returned, nil if they are not plain.
func newPlain(schema any) *plain {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	p := &plain{anyItems: true, length: extent{max: -1}, itemCount: extent{max: -1}}
	for keyword := range s {
		if !p.addKeyword(s, keyword) {
			return nil
		}
	}
	if !p.addRequired(s["required"]) {
		return nil
	}
	return p
}

// addKeyword adds the rule of a keyword of s. It returns false for one that is not plain.
func (p *plain) addKeyword(s map[string]any, keyword string) (ok bool) {
	value := s[keyword]
	switch keyword {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$comment",
		"format", "contentEncoding", "contentMediaType", "$defs", "definitions", "required":
		return true
	case "additionalProperties": // objects with such members are not accepted anyway
		_, isSchema := value.(map[string]any)
		_, isBool := value.(bool)
		return isSchema || isBool
	case "type":
		names := tree.Types(s)
		for _, name := range names {
			p.types |= kindOf[name]
		}
		return len(names) > 0
	case "enum", "const":
		values, isList := value.([]any)
		if keyword == "const" {
			values, isList = []any{value}, true
		}
		return isList && p.addValues(values)
	case "minimum":
		p.minimum, ok = wholeNumber(value)
	case "maximum":
		p.maximum, ok = wholeNumber(value)
	case "minLength":
		p.length.min, ok = smallNumber(value)
	case "maxLength":
		p.length.max, ok = smallNumber(value)
	case "minItems":
		p.itemCount.min, ok = smallNumber(value)
	case "maxItems":
		p.itemCount.max, ok = smallNumber(value)
	case "items":
		p.items, p.anyItems = newPlain(value), false
		return true
	case "properties":
		return p.addProperties(value)
	}
	return ok
}

// addValues adds the JSON of the allowed values. It does not recognize other spellings of a number.
func (p *plain) addValues(values []any) bool {
	if p.values != nil {
		return false
	}
	p.values = make(map[string]bool, len(values))
	for _, v := range values {
		switch v.(type) {
		case []any, map[string]any:
			return false
		}
		text, err := jsonrpc.Marshal(v)
		if err != nil {
			return false
		}
		p.values[string(text)] = true
	}
	return true
}

// addProperties adds the properties of objects.
func (p *plain) addProperties(value any) bool {
	properties, ok := value.(map[string]any)
	if !ok || len(properties) > maxMembers {
		return false
	}
	p.members = make(map[string]member, len(properties))
	for name, rules := range properties {
		p.members[name] = member{bit: 1 << len(p.members), rules: newPlain(rules)}
	}
	return true
}

// addRequired adds the required properties.
func (p *plain) addRequired(value any) bool {
	if value == nil {
		return true
	}
	names, ok := value.([]any)
	for _, name := range names {
		text, _ := name.(string)
		m, described := p.members[text]
		if !described {
			return false
		}
		p.required |= m.bit
	}
	return ok
}

func wholeNumber(value any) (*int64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	return &i, err == nil
}

func smallNumber(value any) (int, bool) {
	n, ok := wholeNumber(value)
	if !ok || *n < 0 || *n > MaxSize {
		return 0, false
	}
	return int(*n), true
}

// Plainly returns raw on one line if one fast pass shows that it is an object that fits. Otherwise it returns false, and
// [Decode] and [Schema.ValidateValue] have to decide. It is for the common arguments of few, simple values.
func (s *Schema) Plainly(raw []byte) (json.RawMessage, bool) {
	raw = bytes.TrimSpace(raw)
	// Escapes of characters may be halves of pairs.
	if s.plain == nil || !utf8.Valid(raw) || bytes.Contains(raw, []byte(`\u`)) {
		return nil, false
	}
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	if d.Kind() != '{' || !s.plain.accepts(&d) || d.Err() != nil || d.Offset() != len(raw) {
		return nil, false
	}
	if bytes.ContainsAny(raw, " \t\r\n") {
		var line bytes.Buffer
		line.Grow(len(raw))
		if json.Compact(&line, raw) != nil {
			return nil, false
		}
		raw = line.Bytes()
	}
	return raw, true
}

// accepts reads the next value. It returns true if the value certainly fits.
func (p *plain) accepts(d *jsonrpc.Decoder) bool {
	if p == nil {
		return false
	}
	switch d.Kind() {
	case '{':
		return p.allows(anObject) && p.values == nil && p.object(d)
	case '[':
		return p.allows(anArray) && p.values == nil && p.array(d)
	}
	raw := d.Raw()
	return raw != nil && p.scalar(raw) && (p.values == nil || p.values[string(raw)])
}

func (p *plain) allows(k kinds) bool { return p.types == 0 || p.types&k != 0 }

// object reads an object. It returns true if the object certainly fits.
func (p *plain) object(d *jsonrpc.Decoder) bool {
	if p.members == nil {
		return false
	}
	var seen uint64
	ok := true
	for name := range d.Members {
		m, described := p.members[string(name)]
		if !described || seen&m.bit != 0 || !m.rules.accepts(d) {
			ok = false
			break
		}
		seen |= m.bit
	}
	return ok && seen&p.required == p.required
}

// array reads an array. It returns true if the array certainly fits.
func (p *plain) array(d *jsonrpc.Decoder) bool {
	n, ok := 0, true
	for range d.Elements {
		n++
		if p.anyItems {
			ok = acceptsScalar(d)
		} else {
			ok = p.items.accepts(d)
		}
		if !ok {
			break
		}
	}
	return ok && p.itemCount.has(n)
}

// acceptsScalar reads a value that has no rules. It returns true if the value is certainly within
// the bounds of [Decode]: it has no parts, and is not a long number.
func acceptsScalar(d *jsonrpc.Decoder) bool {
	switch d.Kind() {
	case '{', '[':
		return false
	}
	raw := d.Raw()
	return raw != nil && (raw[0] == '"' || len(raw) <= maxPlainDigits)
}

// maxPlainDigits bounds the text of a number: any integer of so many digits is an int64.
const maxPlainDigits = 18

// scalar reports whether a value without parts certainly has a type of p and is within its bounds.
func (p *plain) scalar(raw []byte) bool {
	switch raw[0] {
	case '"':
		return p.allows(aString) && p.text(raw)
	case 't', 'f':
		return p.allows(aBoolean)
	case 'n':
		return p.allows(aNull)
	}
	return p.number(raw)
}

// text checks the length of a string. The length of one with escapes is not known.
func (p *plain) text(raw []byte) bool {
	if p.length == (extent{max: -1}) {
		return true
	}
	return bytes.IndexByte(raw, '\\') < 0 && p.length.has(utf8.RuneCount(raw)-2)
}

// number checks an integer that is written as such, or another number without bounds.
func (p *plain) number(raw []byte) bool {
	if len(raw) > maxPlainDigits {
		return false
	}
	n, negative := int64(0), raw[0] == '-'
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
		case i > 0 || !negative:
			return p.allows(aNumber) && p.minimum == nil && p.maximum == nil && !bytes.ContainsAny(raw, "eE")
		}
	}
	if negative {
		n = -n
	}
	return p.allows(anInteger) && (p.minimum == nil || n >= *p.minimum) && (p.maximum == nil || n <= *p.maximum)
}
