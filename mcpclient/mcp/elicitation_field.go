package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/pattern"
)

// Parse turns what a person typed into the field's value and checks it. The
// value is a string, float64, int64, bool or []string, as the kind has it. The
// empty text takes the default, or else is nil for a field that is not
// required.
//
// A choice is named by its value, its title, or its number from 1; case does
// not matter unless it tells options apart. Choices are separated by commas. A
// boolean is yes or no, true or false, y or n, 1 or 0.
func (f *Field) Parse(text string) (any, error) {
	if f.Kind != FieldString || formatName(f.Format) != "" {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return f.untouched()
	}
	switch f.Kind {
	case FieldString:
		return f.value(text)
	case FieldNumber, FieldInteger:
		return f.value(json.Number(text))
	case FieldBoolean:
		switch strings.ToLower(text) {
		case "yes", "y", "true", "1":
			return true, nil
		case "no", "n", "false", "0":
			return false, nil
		}
		return nil, f.want()
	case FieldChoice:
		return f.pick(text)
	}
	if value, err := f.pick(text); err == nil { // an option may have a comma in it
		return f.value([]string{value})
	}
	var values []string
	for part := range strings.SplitSeq(text, ",") {
		value, err := f.pick(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return f.value(values)
}

// Check reports why v is not an answer to the field. A number may be of any
// numeric type or a [json.Number], choices may be a []any of strings, and a
// choice is the option's value, not its title. Nil is an answer to a field that
// is not required or that has a default.
func (f *Field) Check(v any) error {
	_, err := f.answer(v)
	return err
}

// answer checks v and returns it in the type that the field's kind has. Nil
// leaves the field alone.
func (f *Field) answer(v any) (any, error) {
	if v == nil {
		return f.untouched()
	}
	return f.value(v)
}

// untouched is the value of a field that the person left alone.
func (f *Field) untouched() (any, error) {
	switch v := f.Default.(type) {
	case nil:
	case []string:
		return slices.Clone(v), nil
	default:
		return v, nil
	}
	if f.Required {
		return nil, fmt.Errorf("field %q: an answer is required: %s", excerpt.Cut(f.Name), f.expected())
	}
	return nil, nil
}

// pick finds the option that the text names.
func (f *Field) pick(text string) (string, error) {
	if f.hasOption(text) {
		return text, nil
	}
	exact := func(o FieldOption) bool { return o.Title == text }
	folded := func(o FieldOption) bool {
		return strings.EqualFold(o.Title, text) || strings.EqualFold(o.Value, text)
	}
	for _, fits := range []func(FieldOption) bool{exact, folded} {
		i := slices.IndexFunc(f.Options, fits)
		switch {
		case i < 0:
		case slices.ContainsFunc(f.Options[i+1:], fits):
			return "", fmt.Errorf("field %q: several options have this name: give the value or the number of one", excerpt.Cut(f.Name))
		default:
			return f.Options[i].Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && 1 <= n && n <= len(f.Options) {
		return f.Options[n-1].Value, nil
	}
	return "", f.want()
}

// FieldKind is the type of a form's [Field].
type FieldKind string

// The kinds of fields.
const (
	FieldString  FieldKind = "string"
	FieldNumber  FieldKind = "number"
	FieldInteger FieldKind = "integer"
	FieldBoolean FieldKind = "boolean"
	FieldChoice  FieldKind = "choice"  // one of Options
	FieldChoices FieldKind = "choices" // any of Options
)

// Field is one question of a form.
type Field struct {
	Name        string
	Title       string // Name when the server gave none
	Description string
	Kind        FieldKind
	Required    bool

	Options []FieldOption // for FieldChoice and FieldChoices

	Format    string // of a string: "email", "uri", "date", "date-time", or the server's own
	Pattern   string // of a string: a regular expression in the syntax of package regexp
	MinLength *int   // in characters
	MaxLength *int
	Minimum   *float64
	Maximum   *float64
	MinItems  *int
	MaxItems  *int

	// Default is of the types that [Field.Parse] returns. It is nil when the
	// server gave none, or one that is no answer to its own field.
	Default any
}

// FieldOption is one choice of a field.
type FieldOption struct {
	Value string // what the server gets
	Title string // what the person sees
}

// readDefault gives nil for a default that does not answer the field: the
// person is asked then, which is better than no form at all.
func (f *Field) readDefault(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	v, err := f.value(v)
	if err != nil {
		return nil
	}
	return v
}

const (
	maxNumber        = 64 // characters of a number
	maxOptionsListed = 10 // in an error
)

// value checks v, which is not nil, and returns it in the type that the
// field's kind has.
func (f *Field) value(v any) (any, error) {
	switch f.Kind {
	case FieldString:
		if s, ok := v.(string); ok && f.fitsString(s) {
			return s, nil
		}
	case FieldNumber, FieldInteger:
		if n, ok := f.number(v); ok {
			return n, nil
		}
	case FieldBoolean:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case FieldChoice:
		if s, ok := v.(string); ok && f.hasOption(s) {
			return s, nil
		}
	case FieldChoices:
		if list, ok := stringList(v); ok && f.fitsChoices(list) {
			return list, nil
		}
	}
	return nil, f.want()
}

// want says what the field wants. It does not say what it got: the error may
// reach the server, to which the person's answer was not given yet.
func (f *Field) want() error {
	return fmt.Errorf("field %q: want %s", excerpt.Cut(f.Name), f.expected())
}

func (f *Field) fitsString(s string) bool {
	n := utf8.RuneCountInString(s)
	if !utf8.ValidString(s) || f.MinLength != nil && n < *f.MinLength || f.MaxLength != nil && n > *f.MaxLength {
		return false
	}
	re, err := pattern.Compile(f.Pattern) // unanchored, as in JSON Schema
	return fitsFormat(f.Format, s) && err == nil && re.MatchString(s)
}

// formatName names a format that is checked; "" stands for the others, which
// are the server's own.
func formatName(format string) string {
	switch format {
	case "email":
		return "an email address"
	case "uri":
		return "a URI with its scheme"
	case "date":
		return "a date like 2006-01-02"
	case "date-time":
		return "a date and time like 2006-01-02T15:04:05Z"
	}
	return ""
}

func fitsFormat(format, s string) bool {
	switch format {
	case "email":
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s // without a display name
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && !strings.ContainsFunc(s, notInURI)
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		return err == nil && s[len("2006-01-02T15")] == ':' && !strings.Contains(s, ",") // which Parse does not mind
	}
	return true
}

func notInURI(r rune) bool {
	return r <= ' ' || r >= 0x7F || strings.ContainsRune("\"<>\\^`{|}", r)
}

// number returns the value of a number within the field's bounds, without
// rounding: an int64, or a float64 that is written with the same digits.
func (f *Field) number(v any) (any, bool) {
	text, ok := numberText(v)
	if !ok {
		return nil, false
	}
	n, ok := exact(text)
	if !ok || !f.inRange(n) {
		return nil, false
	}
	if f.Kind == FieldInteger {
		return n.Num().Int64(), n.IsInt() && n.Num().IsInt64()
	}
	x, _ := n.Float64()
	written := ratOf(&x)
	return x, written != nil && written.Cmp(n) == 0
}

func numberText(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return string(v), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32), true
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return strconv.FormatInt(r.Int(), 10), true
	case r.CanUint():
		return strconv.FormatUint(r.Uint(), 10), true
	}
	return "", false
}

// exact reads a number in JSON's notation. It refuses those beyond a float64,
// whose exponent alone can ask for a great deal of memory.
func exact(text string) (*big.Rat, bool) {
	if len(text) > maxNumber || !json.Valid([]byte(text)) || !strings.ContainsRune("-0123456789", rune(text[0])) {
		return nil, false
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false
	}
	if x == 0 {
		digits, _, _ := strings.Cut(strings.ToLower(text), "e")
		return new(big.Rat), !strings.ContainsAny(digits, "123456789")
	}
	return new(big.Rat).SetString(text)
}

func (f *Field) inRange(n *big.Rat) bool {
	least, most := ratOf(f.Minimum), ratOf(f.Maximum)
	return (least == nil || n.Cmp(least) >= 0) && (most == nil || n.Cmp(most) <= 0)
}

// ratOf is the number that x is written as, nil when there is none.
func ratOf(x *float64) *big.Rat {
	if x == nil {
		return nil
	}
	n, ok := exact(strconv.FormatFloat(*x, 'g', -1, 64))
	if !ok {
		return nil
	}
	return n
}

func (f *Field) hasOption(value string) bool {
	return slices.ContainsFunc(f.Options, func(o FieldOption) bool { return o.Value == value })
}

// stringList copies a list of strings.
func stringList(v any) ([]string, bool) {
	switch v := v.(type) {
	case []string:
		return append([]string{}, v...), true
	case []any:
		list := make([]string, len(v))
		for i, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			list[i] = s
		}
		return list, true
	}
	return nil, false
}

func (f *Field) fitsChoices(list []string) bool {
	for i, s := range list {
		if !f.hasOption(s) || slices.Contains(list[:i], s) {
			return false
		}
	}
	return (f.MinItems == nil || len(list) >= *f.MinItems) && (f.MaxItems == nil || len(list) <= *f.MaxItems)
}

// expected describes an answer to the field.
func (f *Field) expected() string {
	var b strings.Builder
	switch f.Kind {
	case FieldString:
		b.WriteString(cmp.Or(formatName(f.Format), "text"))
	case FieldNumber:
		b.WriteString("a number")
	case FieldInteger:
		b.WriteString("a whole number")
	case FieldBoolean:
		b.WriteString("yes or no")
	case FieldChoice:
		b.WriteString("one of " + listOptions(f.Options))
	case FieldChoices:
		b.WriteString("any of " + listOptions(f.Options) + ", each once")
	default:
		fmt.Fprintf(&b, "a kind that fields have, not %q", excerpt.Cut(string(f.Kind)))
	}
	writeBounds(&b, "length ", f.MinLength, f.MaxLength)
	writeBounds(&b, "", f.Minimum, f.Maximum)
	writeBounds(&b, "count ", f.MinItems, f.MaxItems)
	if f.Pattern != "" {
		fmt.Fprintf(&b, ", matching %q", excerpt.Cut(f.Pattern))
	}
	return b.String()
}

func listOptions(options []FieldOption) string {
	var names []string
	for _, o := range options[:min(len(options), maxOptionsListed)] {
		name := strconv.Quote(excerpt.Cut(o.Value))
		if o.Title != o.Value {
			name += " (" + excerpt.Cut(o.Title) + ")"
		}
		names = append(names, name)
	}
	if more := len(options) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return excerpt.Cut(strings.Join(names, ", "))
}

func writeBounds[T int | float64](b *strings.Builder, what string, least, most *T) {
	if least != nil {
		fmt.Fprintf(b, ", %sat least %v", what, *least)
		what = ""
	}
	if most != nil {
		fmt.Fprintf(b, ", %sat most %v", what, *most)
	}
}
