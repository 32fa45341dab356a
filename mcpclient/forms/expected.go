package forms

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

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
	switch f.Kind {
	case KindString:
		b.WriteString(cmp.Or(formatName(f.Format), "text"))
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

// writeBounds writes the given bounds. what is written once, before the first.
func writeBounds[T int | float64](b *strings.Builder, what string, least, most *T) {
	if least != nil {
		fmt.Fprintf(b, ", %sat least %v", what, *least)
		what = ""
	}
	if most != nil {
		fmt.Fprintf(b, ", %sat most %v", what, *most)
	}
}
