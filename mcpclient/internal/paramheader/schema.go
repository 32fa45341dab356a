package paramheader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
	"github.com/mcpchain/mcpchain/mcpclient/internal/httptoken"
)

// Param is a parameter of a tool whose value calls repeat in a header.
type Param struct {
	header string   // full name
	path   []string // where the parameter is in the arguments
}

const (
	maxSchemaDepth = 64 // nested schemas
	maxParams      = 64 // for one tool
	maxName        = 128
	annotation     = "x-mcp-header"
	prefix         = "Mcp-Param-"
)

// Of returns the x-mcp-header annotations of an input schema, which is valid JSON. It is an
// error if the tool must be rejected because of one.
func Of(schema json.RawMessage) ([]Param, error) {
	if !bytes.Contains(schema, []byte("mcp-header")) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, nil // the usual case
	}
	w := schemaWalk{taken: map[string]bool{}}
	if err := w.schema(bytes.TrimSpace(schema), "inputSchema", []string{}, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

// schemaWalk visits a schema and all schemas in it.
type schemaWalk struct {
	found []Param
	taken map[string]bool // names of headers in lower case
}

// schema visits one schema. where is its place, for people. path leads to the parameter that it
// describes; it is nil for a schema that is not reached from the root "via a chain of
// properties keys" alone.
func (w *schemaWalk) schema(raw []byte, where string, path []string, depth int) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil // true, false, or not a schema
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("%s: schemas nested deeper than %d", excerpt.Cut(where), maxSchemaDepth)
	}
	var kind, name []byte
	var inner error
	err := jsonrpc.Members(raw, func(key, value []byte) {
		if inner != nil {
			return
		}
		switch k := string(key); k {
		case "type":
			kind = value
		case annotation:
			name = value
		case "properties":
			inner = w.schemas(value, where+"."+k, path, depth)
		default:
			applicator, ok := tree.Lookup(k)
			switch {
			case applicator.Named():
				inner = w.schemas(value, where+"."+k, nil, depth)
			case ok, k == "contentSchema":
				inner = w.schemaOrList(value, where+"."+k, depth)
			}
		}
	})
	switch {
	case inner != nil:
		return inner
	case err != nil:
		return fmt.Errorf("%s: %w", excerpt.Cut(where), err)
	case name == nil:
		return nil
	}
	return w.add(name, kind, where, path)
}

// schemas visits the members of an object, which are schemas.
func (w *schemaWalk) schemas(raw []byte, where string, path []string, depth int) (err error) {
	if raw[0] != '{' {
		return nil
	}
	bad := jsonrpc.Members(raw, func(key, value []byte) {
		if err != nil {
			return
		}
		var deeper []string
		if path != nil {
			deeper = append(path[:len(path):len(path)], string(key))
		}
		err = w.schema(value, where+"."+string(key), deeper, depth+1)
	})
	if err == nil && bad != nil {
		err = fmt.Errorf("%s: %w", excerpt.Cut(where), bad)
	}
	return err
}

// schemaOrList visits a schema, or each in a list, that is not reached by properties alone.
func (w *schemaWalk) schemaOrList(raw []byte, where string, depth int) error {
	if raw[0] != '[' {
		return w.schema(raw, where, nil, depth+1)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%s: %w", excerpt.Cut(where), err)
	}
	for i, s := range list {
		if err := w.schema(s, fmt.Sprintf("%s[%d]", where, i), nil, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// add adds an annotation, if it is valid (2026-07-28 streamable-http, "Custom Headers from Tool
// Parameters").
func (w *schemaWalk) add(raw, kind []byte, where string, path []string) error {
	where = excerpt.Cut(where)
	var name string
	if raw[0] != '"' || json.Unmarshal(raw, &name) != nil || name == "" {
		return fmt.Errorf("%s: %s is %s, want a string that is not empty", where, annotation, excerpt.Quote(raw))
	}
	lower := strings.ToLower(name)
	switch {
	case !httptoken.Valid(name):
		return fmt.Errorf("%s: %s %q is not a header name", where, annotation, excerpt.Cut(name))
	case len(name) > maxName:
		return fmt.Errorf("%s: %s %q is longer than %d bytes", where, annotation, excerpt.Cut(name), maxName)
	case len(path) == 0:
		return fmt.Errorf("%s: %s %q stands where properties alone do not lead", where, annotation, name)
	case w.taken[lower]:
		return fmt.Errorf("%s: %s %q is there twice, upper and lower case being the same", where, annotation, name)
	case len(w.found) == maxParams:
		return fmt.Errorf("%s: more than %d parameters have %s", where, maxParams, annotation)
	}
	switch string(kind) {
	case `"string"`, `"integer"`, `"boolean"`:
	default:
		return fmt.Errorf("%s: %s %q needs the type string, integer or boolean, and has %s", where, annotation, name, orNone(kind))
	}
	w.taken[lower] = true
	w.found = append(w.found, Param{prefix + name, path})
	return nil
}

func orNone(kind []byte) string {
	if kind == nil {
		return "none"
	}
	return excerpt.Cut(string(kind)) // which is JSON
}
