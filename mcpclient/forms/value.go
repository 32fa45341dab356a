package forms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

const (
	maxNumber        = 64 // characters of a number
	maxOptionsListed = 10 // bounds the options in an error
)

// value checks v, which is not nil, and returns it in the type that the field's kind has.
func (f *Field) value(v any) (any, error) {
	switch f.Kind {
	case KindString:
		if s, ok := v.(string); ok && f.fitsString(s) {
			return s, nil
		}
	case KindNumber, KindInteger:
		return f.number(v)
	case KindBoolean:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case KindChoice:
		if s, ok := v.(string); ok && f.hasOption(s) {
			return s, nil
		}
	case KindChoices:
		if list, ok := stringList(v); ok && f.fitsChoices(list) {
			return list, nil
		}
	}
	return nil, f.valueError()
}

// fitsString reports whether a text has the length, the format and the pattern of the field.
func (f *Field) fitsString(s string) bool {
	format, known := formats[f.Format]
	if !utf8.ValidString(s) || !f.isWithin(float64(utf8.RuneCountInString(s))) || known && !format.fits(s) {
		return false
	}
	re, err := tree.CompilePattern(f.Pattern) // unanchored, as in JSON Schema
	return err == nil && (re.Work(s) > maxWork || re.MatchString(s))
}

// isWithin reports whether a number, a length or a count is within the bounds of the field.
func (f *Field) isWithin(n float64) bool {
	return (f.Min == nil || n >= *f.Min) && (f.Max == nil || n <= *f.Max)
}

// formats are the formats that are checked. Others are the server's own.
var formats = map[string]struct {
	name string
	fits func(string) bool
}{
	"email": {"an email address", func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s // without a display name
	}},
	"uri": {"a URI with its scheme", func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && !strings.ContainsFunc(s, notInURI)
	}},
	"date": {"a day of the calendar, as in 2027-05-31", func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	}},
	"date-time": {"a date and time, as in 2027-05-31T19:30:00Z", func(s string) bool {
		_, err := time.Parse(time.RFC3339, s)
		return err == nil && s[len("2006-01-02T15")] == ':' && !strings.Contains(s, ",") // which Parse does not mind
	}},
}

func notInURI(r rune) bool {
	return r <= ' ' || r >= 0x7F || strings.ContainsRune("\"<>\\^`{|}", r)
}

// number returns the value of a number within the field's bounds: an int64 for a whole number, else
// a float64.
func (f *Field) number(v any) (any, error) {
	text := numberText(v)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxNumber || !json.Valid([]byte(text)) || !f.isWithin(x) {
		return nil, f.valueError()
	}
	n, notInt := strconv.ParseInt(text, 10, 64)
	switch {
	case f.Kind == KindInteger && notInt == nil:
		return n, nil
	case f.Kind == KindInteger && x == math.Trunc(x) && math.Abs(x) < 1<<53: // 12.0 and 1e3
		return int64(x), nil
	case f.Kind == KindNumber && (strings.ContainsAny(text, ".eE") || strconv.FormatFloat(x, 'f', -1, 64) == text): // no other whole number
		return x, nil
	case x != math.Trunc(x):
		return nil, f.valueError()
	}
	return nil, &FieldError{"want " + f.expected() + ": this one has too many digits", f.Name}
}

// numberText returns a number in JSON's notation, "" for another value.
func numberText(v any) string {
	if v, ok := v.(json.Number); ok {
		return string(v)
	}
	switch r := reflect.ValueOf(v); {
	case r.CanFloat():
		return strconv.FormatFloat(r.Float(), 'g', -1, r.Type().Bits())
	case r.CanInt():
		return strconv.FormatInt(r.Int(), 10)
	case r.CanUint():
		return strconv.FormatUint(r.Uint(), 10)
	}
	return ""
}

func (f *Field) hasOption(value string) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == value })
}

// stringList returns a copy of a list of strings.
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

// fitsChoices reports whether a list has only options, each once, and as many as the field wants.
func (f *Field) fitsChoices(list []string) bool {
	for i, s := range list {
		if !f.hasOption(s) || slices.Contains(list[:i], s) {
			return false
		}
	}
	return f.isWithin(float64(len(list)))
}

// FieldError is the error of an answer that does not fit a [Field]. It does not contain the answer,
// because the error may reach the server, which has not received the answer.
type FieldError struct {
	Reason string // what the field expects, for a person who sees the field
	name   string
}

// Error returns the field's name, cut to 1 KiB, and the reason.
func (e *FieldError) Error() string {
	return fmt.Sprintf("field %q: %s", excerpt.Cut(e.name), e.Reason)
}

// valueError returns the error for a value that does not fit the field.
func (f *Field) valueError() error { return &FieldError{"want " + f.expected(), f.Name} }

// expected describes a valid answer.
func (f *Field) expected() string {
	var b strings.Builder
	measure := ""
	switch f.Kind {
	case KindString:
		b.WriteString(cmp.Or(formats[f.Format].name, "text"))
		measure = "length "
	case KindNumber:
		b.WriteString("a number")
	case KindInteger:
		b.WriteString("a whole number")
	case KindBoolean:
		b.WriteString("yes or no")
	case KindChoice:
		b.WriteString("one of " + listOptions(f.Options))
	case KindChoices:
		b.WriteString("any of " + listOptions(f.Options) + ", each once")
		measure = "count "
	default:
		fmt.Fprintf(&b, "a kind that fields have, not %q", excerpt.Cut(string(f.Kind)))
	}
	if f.Min != nil {
		fmt.Fprintf(&b, ", %sat least %s", measure, plainNumber(*f.Min))
		measure = ""
	}
	if f.Max != nil {
		fmt.Fprintf(&b, ", %sat most %s", measure, plainNumber(*f.Max))
	}
	if f.Pattern != "" {
		fmt.Fprintf(&b, ", matching %q", excerpt.Cut(f.Pattern))
	}
	return b.String()
}

// plainNumber writes a number as in JSON: 1000000 instead of 1e+06.
func plainNumber(x float64) string {
	text, _ := json.Marshal(x)
	return string(text)
}

// listOptions returns the first options with their titles, cut to 1 KiB.
func listOptions(options []Option) string {
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
