// Package toolschema translates between tools and models. It writes the input schema of a tool for
// the model's provider, and converts the arguments that the model writes to the tool's arguments.
//
// Package adapter uses it for the tools of servers, and package sampling for the tools of a server's sampling request.
package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Schema is the input schema of a tool. It never changes.
type Schema struct {
	// Parameters is the server's schema. In its root, a missing type or properties was added, and a
	// null properties or required was removed.
	Parameters json.RawMessage

	// Wrapper is the property that holds all arguments in some profiles, "" if no profile needs it.
	Wrapper string

	compiled *schema.Schema
	shape    shape
	aliases  map[string]string // names of properties that Anthropic refuses, by alias
	hasRest  bool              // the root has rules for properties that it does not describe
}

// ErrObject is the error of [New] for a schema that no object fits.
var ErrObject = errors.New("arguments are an object")

// New parses an input schema. An empty text, null and true mean any object.
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
		return nil, fmt.Errorf("input schema: want a JSON object, got %s", excerpt.Limit(string(raw), 200))
	}
	if types := tree.Types(root); len(types) > 0 && !slices.Contains(types, "object") {
		return nil, fmt.Errorf("input schema: %w, which type %q refuses", ErrObject, types)
	}
	return &Schema{
		Parameters: withProperties(raw, root),
		Wrapper:    rewrite.WrapperName(root),
		compiled:   compiled,
		shape:      newShape(root),
		aliases:    rewrite.Aliases(root),
		hasRest:    root["patternProperties"] != nil || root["additionalProperties"] != nil,
	}, nil
}

// Root returns the decoded schema, which is shared and must not be changed.
func (s *Schema) Root() map[string]any { return tree.Object(s.compiled.Root()) }

// Ignored returns JSON pointers to the patterns that only the server checks.
func (s *Schema) Ignored() []string { return s.compiled.Ignored() }

// List returns a description of the parameters, one on each line.
func (s *Schema) List() string { return s.shape.list() }

// Check checks arguments of at most 4 MiB and returns them on one line. It repairs nothing.
func (s *Schema) Check(arguments []byte) (json.RawMessage, error) {
	return s.CheckWithin(maxArguments, arguments)
}

// CheckWithin is like [Schema.Check] for arguments of at most limit bytes.
func (s *Schema) CheckWithin(limit int, arguments []byte) (json.RawMessage, error) {
	if len(arguments) > limit {
		return nil, tooLongError(len(arguments), limit)
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

func tooLongError(n, most int) error { return fmt.Errorf("%d bytes: want at most %d", n, most) }

// shape summarizes a tool's parameters.
type shape struct {
	properties map[string]any
	required   []string
	only       string // the parameter that a bare value is for, "" if there are several
}

// newShape returns the shape of a schema's root.
func newShape(root map[string]any) shape {
	s := shape{properties: tree.Object(root["properties"]), required: tree.Strings(root["required"])}
	switch {
	case len(s.properties) == 1:
		for name := range s.properties {
			s.only = name
		}
	case len(s.required) == 1:
		s.only = s.required[0]
	}
	return s
}

func (s shape) has(name string) bool {
	_, ok := s.properties[name]
	return ok
}

// sortedNames returns the names of the parameters: required ones in the schema's order, then others by name.
func (s shape) sortedNames() []string {
	names := slices.Clone(s.required)
	for _, name := range tree.Keys(s.properties) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// names returns the parameters for the text of an error.
func (s shape) names() string {
	names := s.sortedNames()
	if len(names) == 0 {
		return "no properties"
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", excerpt.Limit(name, 100))
	}
	return "the properties " + excerpt.Limit(strings.Join(names, ", "), 500)
}

// list describes the parameters, one on each line.
func (s shape) list() string {
	var b strings.Builder
	for _, name := range s.sortedNames() {
		property := tree.Object(s.properties[name])
		fmt.Fprintf(&b, "\n- %s", excerpt.Limit(name, 100))
		var facts []string
		if types := tree.Types(property); len(types) > 0 {
			facts = append(facts, strings.Join(types, " or "))
		}
		if slices.Contains(s.required, name) {
			facts = append(facts, "required")
		}
		if len(facts) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(facts, ", "))
		}
		if description := tree.Text(property["description"]); description != "" {
			fmt.Fprintf(&b, ": %s", excerpt.Limit(strings.Join(strings.Fields(description), " "), 100))
		}
	}
	return b.String()
}
