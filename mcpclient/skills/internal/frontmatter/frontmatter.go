// Package frontmatter reads the YAML at the head of a peer's Markdown document.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxSize bounds the front matter, in bytes.
const MaxSize = 16 << 10

// Parse splits a document into its front matter, a mapping, and the rest. The values have the types
// that encoding/json makes from the same data as JSON. Anchors, aliases, merges and tags are
// refused: they turn a small text into a large value, or into another value than it seems to be.
func Parse(document []byte) (fields map[string]any, body []byte, err error) {
	head, body, err := split(document)
	if err != nil {
		return nil, nil, err
	}
	defer func() { // the parser reads a peer's text
		if p := recover(); p != nil {
			err = fmt.Errorf("front matter: the YAML parser gave up: %v", p)
		}
	}()
	file, err := parser.ParseBytes(head, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("front matter: not YAML: %s", yaml.FormatError(err, false, false))
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, nil, errors.New("front matter: want one YAML mapping")
	}
	plain := plainOnly{}
	ast.Walk(&plain, file.Docs[0].Body)
	if plain.err != nil {
		return nil, nil, plain.err
	}
	var value map[string]any
	if err := yaml.NodeToValue(file.Docs[0].Body, &value); err != nil {
		return nil, nil, fmt.Errorf("front matter: want a mapping: %s", yaml.FormatError(err, false, false))
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, nil, fmt.Errorf("front matter: no JSON can say it: %v", err)
	}
	return fields, body, json.Unmarshal(raw, &fields)
}

var byteOrderMark = []byte("\uFEFF")

// split finds the lines between the first line and the next line "---".
func split(document []byte) (head, body []byte, err error) {
	first, rest, ok := bytes.Cut(bytes.TrimPrefix(document, byteOrderMark), []byte("\n"))
	if !ok || string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, nil, errors.New(`no front matter: the first line is not "---"`)
	}
	for at := 0; at <= MaxSize; {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		end := min(at+len(line)+1, len(rest))
		if string(bytes.TrimRight(line, " \t\r")) == "---" {
			return rest[:at], rest[end:], nil
		}
		if !more {
			return nil, nil, errors.New(`front matter: no line "---" ends it`)
		}
		at = end
	}
	return nil, nil, fmt.Errorf("front matter: more than %d bytes", MaxSize)
}

// plainOnly refuses everything except plain data.
type plainOnly struct{ err error }

func (p *plainOnly) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType, ast.TagType:
		p.err = fmt.Errorf("front matter: line %d: anchors, aliases, merges and tags are not accepted", n.GetToken().Position.Line)
	}
	if p.err != nil {
		return nil
	}
	return p
}
