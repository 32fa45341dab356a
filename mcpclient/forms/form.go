// Package forms reads the forms of elicitations, and checks and completes the answers to them:
// for handlers of elicitations of package mcpclient.
package forms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of a form. Patterns have their own, because a short one can ask for many thousand times its size in memory.
const (
	maxFormSchema   = 256 << 10 // bytes
	maxFields       = 200
	maxFieldOptions = 1000
	maxPattern      = 1 << 10 // bytes
	maxPatterns     = 8 << 10 // bytes in a form
	maxWork         = 1 << 24 // to match texts with patterns, in bytes times instructions: up to a second
)

// Fields reads the form's fields in the order of the server's schema. It returns an error that names the field if the
// schema is not flat, or has a kind of field unknown to the protocol. It also returns an error for more than 256 KiB,
// 200 fields, 1,000 options in a field, 1 KiB of pattern in a field and 8 KiB in all, or patterns that compile to more
// than 10,000 instructions in a field and 250,000 in all.
func Fields(p *mcp.ElicitParams) ([]*Field, error) {
	fields, err := readForm(p.RequestedSchema)
	if err != nil {
		return nil, fmt.Errorf("requested schema: %w", err)
	}
	return fields, nil
}

// readForm decodes the fields of a requested schema.
func readForm(raw json.RawMessage) ([]*Field, error) {
	if len(raw) > maxFormSchema {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(raw), maxFormSchema)
	}
	form := readSchema(raw)
	if typ := form.text("type"); typ != "object" && form.has("type") {
		form.noteFault("type", `"object"`)
	}
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if"} {
		if form.has(keyword) {
			form.noteFault(keyword, "a flat list of properties instead")
		}
	}
	required := form.texts("required")
	properties := new(formSchema)
	if form.has("properties") {
		properties = readSchema(form.values["properties"])
		form.noteInnerFault("properties", properties)
	}
	if form.err != nil {
		return nil, form.err
	}
	for _, name := range required {
		if !properties.has(name) {
			return nil, fmt.Errorf("field %q: required, but not among the properties", excerpt.Cut(name))
		}
	}
	return readFields(properties, required)
}

// readFields reads the fields of a form within the bounds of all of them together.
func readFields(properties *formSchema, required []string) ([]*Field, error) {
	if len(properties.names) > maxFields {
		return nil, fmt.Errorf("%d fields, want at most %d", len(properties.names), maxFields)
	}
	fields := make([]*Field, 0, len(properties.names))
	patterns, work := 0, int64(0)
	var budget tree.PatternBudget
	for _, name := range properties.names {
		f, preset, err := readField(name, properties.values[name])
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", excerpt.Cut(name), err)
		}
		if patterns += len(f.Pattern); patterns > maxPatterns {
			return nil, fmt.Errorf("field %q: pattern: more than %d bytes of patterns in the form", excerpt.Cut(name), maxPatterns)
		}
		size, _, over := budget.Check(f.Pattern)
		if over != nil {
			return nil, fmt.Errorf("field %q: pattern: %w", excerpt.Cut(name), over)
		}
		if cost := int64(size) * int64(len(preset)); cost <= maxWork-work {
			work += cost
			f.Default = f.readDefault(preset)
		}
		f.Required = slices.Contains(required, name)
		fields = append(fields, f)
	}
	return fields, nil
}

// readField reads one field, and returns its default as it is in the schema.
func readField(name string, raw json.RawMessage) (f *Field, preset json.RawMessage, _ error) {
	s := readSchema(raw)
	f = &Field{Name: name, Title: cmp.Or(s.text("title"), name), Description: s.text("description")}
	switch typ := s.text("type"); {
	case typ == "string" && (s.has("enum") || s.has("oneOf") || s.has("anyOf")):
		f.Kind = KindChoice
		f.Options = s.options()
	case typ == "string":
		f.Kind = KindString
		f.Format, f.Pattern = s.text("format"), s.text("pattern")
		f.Min, f.Max = s.count("minLength"), s.count("maxLength")
		if len(f.Pattern) > maxPattern {
			s.noteFault("pattern", fmt.Sprintf("at most %d bytes", maxPattern))
		} else if tree.CheckPattern(f.Pattern) != nil {
			s.noteFault("pattern", "a regular expression in RE2 syntax, of moderate size")
		}
	case s.has("enum"):
		s.noteFault("enum", "a type of string, or of array with the enum in its items")
	case typ == "number", typ == "integer":
		f.Kind = Kind(typ)
		f.Min, f.Max = s.number("minimum"), s.number("maximum")
	case typ == "boolean":
		f.Kind = KindBoolean
	case typ == "array":
		f.Kind = KindChoices
		items := readSchema(s.values["items"])
		f.Options = items.options()
		s.noteInnerFault("items", items)
		f.Min, f.Max = s.count("minItems"), s.count("maxItems")
	default:
		s.noteFault("type", "string, number, integer, boolean, or array of options: forms are flat")
	}
	return f, s.values["default"], s.err
}

// fill checks and completes the answers, and leaves out fields without an answer. The error names
// the first wrong field, in the order of the form, or one that is not in the form.
func fill(fields []*Field, answers map[string]any) (map[string]any, error) {
	content := map[string]any{}
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Name] = true
		v, err := f.answer(answers[f.Name])
		if err != nil {
			return nil, err
		}
		if v != nil {
			content[f.Name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if !known[name] {
			return nil, fmt.Errorf("field %q is not in the form", excerpt.Cut(name))
		}
	}
	return content, nil
}

// Complete returns the answer that the server gets when a handler returns r: defaults are filled into an accepted form,
// and every value is checked and converted to the type of its field. The error names the field and what it expects, or
// is the error of [Fields] for an invalid form. The client completes the results of handlers; a handler calls Complete
// to check an answer beforehand, or to record what is sent. It does not modify r.
func Complete(p *mcp.ElicitParams, r *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	switch r.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return &mcp.ElicitResult{Action: r.Action}, nil
	case mcp.ElicitAccept:
	default:
		return nil, &inquiry.AnswerError{Err: fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
	}
	if p.Mode == mcp.ElicitURL {
		return &mcp.ElicitResult{Action: r.Action}, nil
	}
	fields, err := Fields(p)
	if err != nil {
		return nil, err
	}
	content, err := fill(fields, r.Content)
	if err != nil {
		return nil, &inquiry.AnswerError{Err: err}
	}
	return &mcp.ElicitResult{Action: r.Action, Content: content}, nil
}
