package forms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a [Field].
type Kind string

// The kinds of fields.
const (
	KindString  Kind = "string"
	KindNumber  Kind = "number"
	KindInteger Kind = "integer"
	KindBoolean Kind = "boolean"
	KindChoice  Kind = "choice"  // one of Options
	KindChoices Kind = "choices" // any of Options
)

// Field is one question of a form. Its JSON is for pages that show forms.
type Field struct {
	Name        string `json:"name"`
	Title       string `json:"title"` // Name if the server gave none
	Description string `json:"description,omitempty"`
	Kind        Kind   `json:"kind"`
	Required    bool   `json:"required,omitempty"`

	Options []Option `json:"options,omitempty"` // for KindChoice and KindChoices

	// Format of a string is "email", "uri", "date", "date-time", or the server's own, which is not checked.
	Format string `json:"format,omitempty"`

	// Pattern of a string is a regular expression of package regexp. It is not checked if that takes long.
	Pattern string `json:"pattern,omitempty"`

	// Min and Max bound a number, the length of a string in characters, or the number of choices; nil for no bound.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`

	// Default has a type that [Field.Parse] returns. It is nil if the server gave none, or one that
	// is invalid or takes long to check.
	Default any `json:"default,omitempty"`
}

// Option is one choice of a field.
type Option struct {
	Value string `json:"value"` // for the server
	Title string `json:"title"` // for the person
}

// Parse converts what a person typed to the field's value and checks it. The value is a string,
// float64, int64, bool or []string, depending on Kind. Empty text means the default, or else
// nil for a field that is not required. Errors are of type [*FieldError].
//
// A choice is identified by its value, its title, or its number from 1, regardless of case unless that distinguishes
// options. Several choices are separated by commas. A boolean is yes or no, true or false, y or n, 1 or 0.
func (f *Field) Parse(text string) (any, error) {
	if f.Kind != KindString || formats[f.Format].name != "" {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return f.defaultAnswer()
	}
	switch f.Kind {
	case KindString:
		return f.value(text)
	case KindNumber, KindInteger:
		return f.value(json.Number(text))
	case KindBoolean:
		switch strings.ToLower(text) {
		case "yes", "y", "true", "1":
			return true, nil
		case "no", "n", "false", "0":
			return false, nil
		}
		return nil, f.valueError()
	case KindChoice:
		return f.pick(text)
	}
	if value, err := f.pick(text); err == nil { // an option may contain a comma
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

// Text returns a value of the field, such as its default, as a person reads and types it: an option
// by its title, a boolean as yes or no, several choices with commas between them, those whose title has
// a comma by their value. v has a type that [Field.Parse] returns.
func (f *Field) Text(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return f.title(v)
	case []string:
		titles := make([]string, len(v))
		for i, value := range v {
			if titles[i] = f.title(value); len(v) > 1 && strings.Contains(titles[i], ",") {
				titles[i] = value // its title would be read as two
			}
		}
		return strings.Join(titles, ", ")
	case float64:
		if text := strconv.FormatFloat(v, 'f', -1, 64); len(text) <= maxNumber {
			return text
		}
	}
	return fmt.Sprint(v)
}

// title returns the title of the option with a value, or the value if the title names another option, too.
func (f *Field) title(value string) string {
	for _, o := range f.Options {
		if o.Value != value {
			continue
		}
		if named, err := f.pick(o.Title); err == nil && named == value {
			return o.Title
		}
	}
	return value
}

// Check reports why v is not an answer to the field, as a [*FieldError]. A number may be of any
// numeric type or a [json.Number], choices may be a []any of strings, and a choice is the option's
// value, not its title. Nil is an answer to a field that is not required or that has a default.
func (f *Field) Check(v any) error {
	_, err := f.answer(v)
	return err
}

// answer checks v and returns it in the type that the field's kind has, for nil the default.
func (f *Field) answer(v any) (any, error) {
	if v == nil {
		return f.defaultAnswer()
	}
	return f.value(v)
}

// defaultAnswer returns the value of a field without an answer: its default, or nil. Without a
// default a required field is an error.
func (f *Field) defaultAnswer() (any, error) {
	switch v := f.Default.(type) {
	case nil:
	case []string:
		return slices.Clone(v), nil
	default:
		return v, nil
	}
	if f.Required {
		return nil, &FieldError{"an answer is required: " + f.expected(), f.Name}
	}
	return nil, nil
}

// pick returns the value of the option that the text names: by its value, its title, either without
// regard to case, or its number. It is an error if several options have the title.
func (f *Field) pick(text string) (string, error) {
	if f.hasOption(text) {
		return text, nil
	}
	exact := func(o Option) bool { return o.Title == text }
	folded := func(o Option) bool {
		return strings.EqualFold(o.Title, text) || strings.EqualFold(o.Value, text)
	}
	for _, fits := range []func(Option) bool{exact, folded} {
		i := slices.IndexFunc(f.Options, fits)
		switch {
		case i < 0:
		case slices.ContainsFunc(f.Options[i+1:], fits):
			return "", &FieldError{"several options have this name: give the value or the number of one", f.Name}
		default:
			return f.Options[i].Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && 1 <= n && n <= len(f.Options) {
		return f.Options[n-1].Value, nil
	}
	return "", f.valueError()
}

// readDefault returns nil for no default, and for one that does not answer the field: then the
// person is asked, which is better than no form at all.
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
