// Package toolschema stands between a tool and a model: it writes the schema of
// the tool's arguments as the model's provider takes it, and makes of what the
// model writes by that schema the arguments that the tool takes.
//
// Package adapter uses it for the tools of servers, and package sampling for the
// tools that a server gives to the host's model.
package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// Schema is the input schema of a tool. It never changes.
type Schema struct {
	// Parameters is the schema as the server wrote it. A root without a type or
	// properties got them, and null in the place of properties or required was taken
	// out.
	Parameters json.RawMessage

	// Wrapper is the property in which some dialects ask for all arguments, "" when
	// none does.
	Wrapper string

	compiled *schema.Schema
	shape    shape
	odd      map[string]string // names of properties that not all providers take, by alias
	others   bool              // the root says something of properties that it does not list
}

// New reads an input schema. None at all, null and true are that of any object.
func New(raw json.RawMessage, cache *schema.Cache) (*Schema, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "true" {
		raw = []byte("{}")
	}
	compiled, err := cache.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("input %w", err)
	}
	root, ok := compiled.Root().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("input schema: want a JSON object, got %s", cut(string(raw), 200))
	}
	if types := typeNames(root["type"]); len(types) > 0 && !slices.Contains(types, "object") {
		return nil, fmt.Errorf("input schema: arguments are an object, which type %q refuses", types)
	}
	return &Schema{
		Parameters: withProperties(raw, root),
		Wrapper:    rewrite.Wrapper(root),
		compiled:   compiled,
		shape:      shapeOf(root),
		odd:        rewrite.DocumentAliases(root),
		others:     root["patternProperties"] != nil || root["additionalProperties"] != nil,
	}, nil
}

// Root is the decoded schema. It is shared and must not be changed.
func (s *Schema) Root() map[string]any {
	root, _ := s.compiled.Root().(map[string]any)
	return root
}

// Ignored lists the patterns that are left to the server, as JSON pointers.
func (s *Schema) Ignored() []string { return s.compiled.Ignored() }

// List describes the parameters, one on a line.
func (s *Schema) List() string { return s.shape.list() }

// Check reports why arguments are not within bounds, or do not fit the schema, and
// else returns them in one line. Nothing is repaired.
func (s *Schema) Check(arguments []byte) (json.RawMessage, error) {
	if len(arguments) > maxArguments {
		return nil, errTooLong(len(arguments))
	}
	v, err := schema.Decode(arguments)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, errors.New("want a JSON object")
	}
	if err := s.compiled.ValidateValue(v); err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(v)
}

func errTooLong(n int) error { return fmt.Errorf("%d bytes: want at most %d", n, maxArguments) }

// cut limits text to about n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
