package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/kaptinlin/jsonschema"
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
	sizes    map[string]int // of patterns, in instructions

	mu sync.Mutex // for the validator, which compiles patterns while it validates
}

// Compile reads a schema. Its error says what is wrong with the document, which
// concerns nothing but this schema.
//
// References are followed inside the document only: there is no loader, and
// every schema has a validator of its own, so that one document cannot define
// an $id that another one refers to.
func Compile(raw []byte) (_ *Schema, err error) {
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("schema of %d bytes: want at most %d", len(raw), MaxSize)
	}
	root, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	// The walk changes what it hands on, and root keeps what is not enforced.
	doc := &document{left: MaxSubschemas}
	working, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if err := doc.walk(working, ""); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if doc.older {
		understood(root, draft202012)
	}
	if len(doc.ignored) > 0 {
		ignoreBehind(working)
	}
	compiled, err := compile(working)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{root: root, compiled: compiled, ignored: doc.ignored, sizes: doc.sizes}, nil
}

func compile(doc any) (_ *jsonschema.Schema, err error) {
	defer rescue(&err)
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	compiled, err := newCompiler().Compile(raw)
	if err != nil {
		return nil, errors.New(clip(err.Error(), 500))
	}
	if err := unresolved(compiled); err != nil {
		return nil, err
	}
	return compiled, nil
}

// newCompiler makes a validator that can load nothing: by default it would fetch
// what a $ref names.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	clear(c.Loaders)
	return c
}

// rescue turns a panic of the validator, whose input comes from peers, into an
// error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the validator gave up: %v", r)
	}
}

// Ignored lists the patterns of texts and of names that are not enforced because
// Go's regular expressions cannot say them: those with lookaround or
// backreferences. What would demand more without them, as not does, is not enforced
// either. They are JSON pointers, in which "…" stands for keys that are too long.
func (s *Schema) Ignored() []string { return append([]string(nil), s.ignored...) }

// Root is the decoded schema, a map[string]any or a bool, without the keywords that
// the declared dialect does not know. It is shared and must not be changed.
func (s *Schema) Root() any { return s.root }

// Validate decodes raw and checks it. The error is a [*Violation] when raw is
// JSON within bounds but does not fit the schema.
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
		// The validator keeps what it is given for the time of the call only.
		result = s.compiled.ValidateMap(m)
	} else {
		result = s.compiled.ValidateStruct(v)
	}
	if result.IsValid() {
		return nil
	}
	return explain(s.compiled, v, result)
}
