// Package schema checks JSON values against a peer's JSON Schemas.
//
// It prepares a schema for the validator: the document is decoded exactly, bounded in size, depth, number of subschemas
// and compiled size of its patterns, checked by a supported dialect, and compiled without access to the network. A
// violation has a path and the expected value, in words for a model.
//
// Supported dialects are 2020-12 (the default), 2019-09, draft-07, draft-06 and draft-04, without
// custom vocabularies. Formats and the content keywords are annotations, as 2020-12 demands.
package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/kaptinlin/jsonschema"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Bounds of a schema, beside [MaxDepth].
const (
	MaxSize       = 1 << 20 // bytes
	MaxSubschemas = 10_000
)

// Schema is a compiled JSON Schema. It may be used concurrently.
type Schema struct {
	root     any
	compiled *jsonschema.Schema
	ignored  []string
	sizes    map[string]int // sizes of patterns, in instructions
	plain    *plain         // nil if the rules are not plain

	mu sync.Mutex // guards the validator, which compiles patterns while it validates
}

// Compile reads a schema. Its error explains the mistake in the document, and concerns only this schema.
//
// References are followed only inside the document. There is no loader, and every schema has a
// validator of its own, so no document can define an $id for another.
func Compile(raw []byte) (_ *Schema, err error) {
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("schema of %d bytes: want at most %d", len(raw), MaxSize)
	}
	root, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	// The walk changes its argument; root also keeps the rules that are not enforced.
	doc := &document{left: MaxSubschemas}
	working, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if err := doc.walk(working, ""); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if doc.hasOlder {
		removeUnknownKeywords(root, draft202012)
	}
	if len(doc.ignored) > 0 || len(tree.LostReferences(working)) > 0 {
		relaxReferences(working)
		doc.ignoreLost(working, root)
	}
	compiled, err := compile(working)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{
		root:     root,
		compiled: compiled,
		ignored:  doc.ignored,
		sizes:    doc.sizes,
		plain:    newPlain(root),
	}, nil
}

// compile compiles a document that walk has prepared.
func compile(doc any) (_ *jsonschema.Schema, err error) {
	defer rescue(&err)
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	compiled, err := newCompiler().Compile(raw)
	if err != nil {
		return nil, errors.New(excerpt.CutAt(err.Error(), 500))
	}
	if err := checkReferences(compiled); err != nil {
		return nil, err
	}
	return compiled, nil
}

// newCompiler makes a validator that loads nothing: by default it would fetch the target of a $ref.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	clear(c.Loaders)
	return c
}

// rescue turns a panic of the validator into an error, since its input comes from peers.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("validator gave up: %v", r)
	}
}

// Ignored lists the rules that are not enforced. Go's regular expressions cannot express patterns with lookaround or
// backreferences. A keyword around such a pattern, for example not, is not enforced either if it would refuse more values
// without the pattern, nor is a reference to such a keyword or to contentSchema. The entries are JSON pointers; "…" stands for
// long keys.
func (s *Schema) Ignored() []string { return append([]string(nil), s.ignored...) }

// Root is the decoded schema, a map[string]any or a bool, without the keywords
// that the declared dialect does not know. It is shared: do not change it.
func (s *Schema) Root() any { return s.root }

// Validate decodes raw and checks it. The error is a [*Violation] if raw does not fit the schema, and another one if raw
// is not JSON, is beyond the bounds of [Decode], or would take too long to check.
func (s *Schema) Validate(raw []byte) error {
	v, err := Decode(raw)
	if err != nil {
		return err
	}
	return s.ValidateValue(v)
}

// ValidateValue is [Schema.Validate] for a value that [Decode] returned.
func (s *Schema) ValidateValue(v any) (err error) {
	defer rescue(&err)
	w := work{left: maxSteps, sizes: s.sizes}
	if !w.apply(s.compiled, v, nil) {
		return errors.New("too large to be checked against the schema")
	}
	if len(s.sizes) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	var result *jsonschema.EvaluationResult
	if m, ok := v.(map[string]any); ok {
		// The validator keeps the value only during the call.
		result = s.compiled.ValidateMap(m)
	} else {
		result = s.compiled.ValidateStruct(v)
	}
	if result.IsValid() {
		return nil
	}
	return location{schema: s.compiled, value: v, result: result}.violation()
}

// Bounds of a [Cache].
const (
	maxCached      = 4096
	maxCachedBytes = 64 << 20
)

// Cache compiles every schema once. The key is the schema's bytes, so a changed schema is compiled again, and two
// servers with the same schema share it. A full cache is emptied. The zero value is ready for concurrent use.
type Cache struct {
	mu      sync.Mutex
	compile map[[sha256.Size]byte]func() (*Schema, error)
	bytes   int
}

// Compile is [Compile] with a memory. It remembers invalid schemas, too.
func (c *Cache) Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSize {
		return Compile(raw) // refuses it
	}
	return c.entry(raw)()
}

// entry returns the entry of a schema, a new one if there is none.
func (c *Cache) entry(raw []byte) func() (*Schema, error) {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.compile[key]; known != nil {
		return known
	}
	if c.bytes += len(raw); c.compile == nil || len(c.compile) >= maxCached || c.bytes > maxCachedBytes {
		c.compile, c.bytes = map[[sha256.Size]byte]func() (*Schema, error){}, len(raw)
	}
	raw = bytes.Clone(raw)
	c.compile[key] = sync.OnceValues(func() (*Schema, error) { return Compile(raw) })
	return c.compile[key]
}
