// Package toolschema translates between a tool and a model. It writes the
// schema of the tool's arguments in the dialect of the model's provider, and
// turns the model's arguments into the tool's.
//
// Package adapter uses it for the tools of servers, package sampling for the
// tools of a server's sampling request.
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
	// Parameters is the server's schema. Missing type and properties were added to
	// the root, and null as properties or required was removed.
	Parameters json.RawMessage

	// Wrapper is the property for all arguments in some dialects, "" if no dialect
	// needs it.
	Wrapper string

	compiled *schema.Schema
	shape    shape
	odd      map[string]string // by alias: names of properties that some providers refuse
	others   bool              // the root has rules for unlisted properties
}

// ErrObject is the cause of [New] to refuse a schema that no object fits.
var ErrObject = errors.New("arguments are an object")

// New reads an input schema. An empty text, null and true mean any object.
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
		return nil, fmt.Errorf("input schema: %w, which type %q refuses", ErrObject, types)
	}
	return &Schema{
		Parameters: withProperties(raw, root),
		Wrapper:    rewrite.WrapperName(root),
		compiled:   compiled,
		shape:      shapeOf(root),
		odd:        rewrite.Aliases(root),
		others:     root["patternProperties"] != nil || root["additionalProperties"] != nil,
	}, nil
}

// Root is the decoded schema. It is shared: do not change it.
func (s *Schema) Root() map[string]any {
	root, _ := s.compiled.Root().(map[string]any)
	return root
}

// Ignored lists the patterns that only the server checks, as JSON pointers.
func (s *Schema) Ignored() []string { return s.compiled.Ignored() }

// List describes the parameters, one on each line.
func (s *Schema) List() string { return s.shape.list() }

// Check returns valid arguments on one line, and an error for arguments out of
// bounds or against the schema. It repairs nothing.
func (s *Schema) Check(arguments []byte) (json.RawMessage, error) {
	return s.CheckWithin(maxArguments, arguments)
}

// CheckWithin is Check for arguments that may have so many bytes.
func (s *Schema) CheckWithin(most int, arguments []byte) (json.RawMessage, error) {
	if len(arguments) > most {
		return nil, errTooLong(len(arguments), most)
	}
	if args, ok := s.compiled.Plainly(arguments); ok {
		return bytes.Clone(args), nil
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

func errTooLong(n, most int) error { return fmt.Errorf("%d bytes: want at most %d", n, most) }

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
