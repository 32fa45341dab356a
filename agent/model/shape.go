package model

import (
	"encoding/json"
	"strings"
)

// shape is the part of a schema that providers of OpenAI's API show to a model: they write it as a
// type with descriptions.
type shape struct {
	Description string
	Type        json.RawMessage
	Enum        []json.RawMessage
	Properties  map[string]*shape
	Default     json.RawMessage
	Items       *shape
	AnyOf       []*shape
	OneOf       []*shape
}

// typesOf writes the schema of a tool's arguments as a type, its properties in any order. ok is
// false if the schema cannot be read.
func typesOf(schema json.RawMessage) (text string, ok bool) {
	var s shape
	if json.Unmarshal(schema, &s) != nil {
		return "", false
	}
	var b strings.Builder
	s.write(&b)
	return b.String(), true
}

// write writes the type that the shape describes.
func (s *shape) write(b *strings.Builder) {
	if s == nil {
		b.WriteString("any")
		return
	}
	kind, several := "", []string{}
	if json.Unmarshal(s.Type, &kind) != nil && json.Unmarshal(s.Type, &several) == nil {
		kind = strings.Join(several, " | ")
	}
	switch {
	case len(s.Enum) > 0:
		writeUnion(b, s.Enum, func(value json.RawMessage) { b.Write(value) })
	case len(s.AnyOf)+len(s.OneOf) > 0:
		writeUnion(b, append(s.AnyOf, s.OneOf...), func(one *shape) { one.write(b) })
	case len(s.Properties) > 0:
		s.writeProperties(b)
	case kind == "array":
		s.Items.write(b)
		b.WriteString("[]")
	case kind == "":
		b.WriteString("any")
	default:
		b.WriteString(kind)
	}
}

// writeUnion writes alternatives, each by write.
func writeUnion[T any](b *strings.Builder, all []T, write func(T)) {
	for i, one := range all {
		if i > 0 {
			b.WriteString(" | ")
		}
		write(one)
	}
}

// writeProperties writes the type of an object, with descriptions and defaults as comments.
func (s *shape) writeProperties(b *strings.Builder) {
	b.WriteString("{\n")
	for name, p := range s.Properties {
		if p != nil && p.Description != "" {
			b.WriteString("// " + p.Description + "\n")
		}
		b.WriteString(name + "?: ")
		p.write(b)
		b.WriteString(",")
		if p != nil && p.Default != nil {
			b.WriteString(" // default: " + string(p.Default))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('}')
}
