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
	header  string   // full name
	path    []string // where the parameter is in the arguments
	integer bool     // the declared type; only integers have bounds
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
	if err := w.schema(bytes.TrimSpace(schema), []string{}, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

type schemaWalk struct {
	found []Param
	taken map[string]bool // names of headers in lower case
	steps []string        // from the root to the current schema, such as ".properties" and "[1]"
}

func (w *schemaWalk) place() string {
	return excerpt.Line("inputSchema"+strings.Join(w.steps, ""), excerpt.Max)
}

func (w *schemaWalk) step(part string, visit func() error) error {
	w.steps = append(w.steps, part)
	err := visit()
	w.steps = w.steps[:len(w.steps)-1]
	return err
}

// schema visits one schema. path leads to the parameter that it describes; it is nil for a schema
// that is not reached from the root "via a chain of properties keys" alone.
func (w *schemaWalk) schema(raw []byte, path []string, depth int) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil // true, false, or not a schema
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("%s: schemas nested deeper than %d", w.place(), maxSchemaDepth)
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
			inner = w.step("."+k, func() error { return w.schemas(value, path, depth) })
		default:
			applicator, ok := tree.Lookup(k)
			switch {
			case applicator.Named():
				inner = w.step("."+k, func() error { return w.schemas(value, nil, depth) })
			case ok, k == "contentSchema":
				inner = w.step("."+k, func() error { return w.schemaOrList(value, depth) })
			}
		}
	})
	switch {
	case inner != nil:
		return inner
	case err != nil:
		return fmt.Errorf("%s: %w", w.place(), err)
	case name == nil:
		return nil
	}
	return w.add(name, kind, path)
}

func (w *schemaWalk) schemas(raw []byte, path []string, depth int) (err error) {
	if raw[0] != '{' {
		return nil
	}
	bad := jsonrpc.Members(raw, func(key, value []byte) {
		if err != nil {
			return
		}
		name := string(key)
		var deeper []string
		if path != nil {
			deeper = append(path[:len(path):len(path)], name)
		}
		err = w.step("."+name, func() error { return w.schema(value, deeper, depth+1) })
	})
	if err == nil && bad != nil {
		err = fmt.Errorf("%s: %w", w.place(), bad)
	}
	return err
}

// schemaOrList visits a schema, or each in a list, that is not reached by properties alone.
func (w *schemaWalk) schemaOrList(raw []byte, depth int) error {
	if raw[0] != '[' {
		return w.schema(raw, nil, depth+1)
	}
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	for i := range d.Elements {
		s := d.Raw()
		if err := w.step(fmt.Sprintf("[%d]", i), func() error { return w.schema(s, nil, depth+1) }); err != nil {
			return err
		}
	}
	if d.Err() != nil {
		return fmt.Errorf("%s: %w", w.place(), d.Err())
	}
	return nil
}

// add adds an annotation, if it is valid (2026-07-28 streamable-http, "Custom Headers from Tool Parameters").
func (w *schemaWalk) add(raw, kind []byte, path []string) error {
	where := w.place()
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
	declared := string(jsonrpc.Plain(kind))
	switch declared {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("%s: %s %q needs the type string, integer or boolean, and has %s", where, annotation, name, orNone(kind))
	}
	w.taken[lower] = true
	w.found = append(w.found, Param{prefix + name, path, declared == "integer"})
	return nil
}

func orNone(kind []byte) string {
	if kind == nil {
		return "none"
	}
	return excerpt.Line(string(kind), excerpt.Max) // which is JSON
}
