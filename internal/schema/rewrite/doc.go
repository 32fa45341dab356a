// Package rewrite puts a JSON Schema into the subset that a model provider
// takes, and says what it changed.
//
// What a rewritten schema cannot say is left to the original, by which
// arguments are still validated, and told to the model in descriptions where
// words can tell it. Where a provider has no way to express a value at all, the
// value is asked for as JSON text, which package adapter decodes again.
package rewrite

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Target is a dialect of JSON Schema.
type Target string

const (
	// OpenAI takes JSON Schema, but wants an object without alternatives at the
	// root, and items for every array.
	OpenAI Target = "openai"

	// OpenAIStrict is the subset of structured outputs: every property
	// required, no others allowed, and few keywords.
	OpenAIStrict Target = "openai-strict"

	// Anthropic takes JSON Schema 2020-12, but wants an object without
	// alternatives at the root, and plain names of properties.
	Anthropic Target = "anthropic"

	// Gemini takes a subset of OpenAPI 3.0: one type for each schema, no
	// references, enumerations of strings.
	Gemini Target = "gemini"

	// GoogleAI is what langchaingo's googleai and vertex providers hand on to
	// Gemini: types, descriptions, properties, items and required.
	GoogleAI Target = "googleai"
)

// Effect says what a change does to the set of arguments that the schema allows.
type Effect int

const (
	// Same means that the model is told the same: in other words, or in a form
	// that is turned back before validation.
	Same Effect = iota

	// Narrower means that the model is not told of some arguments that the
	// original allows.
	Narrower

	// Wider means that the model is not held to something that the original
	// demands, and that validation holds it to.
	Wider
)

// String names the effect.
func (e Effect) String() string {
	switch e {
	case Narrower:
		return "narrower"
	case Wider:
		return "wider"
	}
	return "same"
}

// Change is one difference between a schema and what was made of it.
type Change struct {
	Path    string // a JSON pointer into the original schema, through its references; "…" for names beyond 1 KiB
	Keyword string // that the change is about, "" for the subschema as a whole
	Effect  Effect
	Note    string
}

// Result is a rewritten schema. It shares nothing that is changed with the
// original.
type Result struct {
	Root    map[string]any
	Changes []Change // those that tell somebody something
	Changed bool     // Root is not the original
	Strict  bool     // Root is within the subset of OpenAIStrict
}

// maxNodes bounds the subschemas of a result: references can multiply them.
const maxNodes = 10_000

// maxSteps bounds the work of one result besides: the values and members that
// are merged and written, and as many that are compared.
const maxSteps = 1 << 20

// steps is work that is still allowed.
type steps int

// spend takes steps from what is allowed. Where there are not enough, nothing is
// left, and it returns false.
func (s *steps) spend(n int) bool {
	if n > int(*s) {
		*s = 0
		return false
	}
	*s -= steps(n)
	return true
}

// writer makes one result.
type writer struct {
	target  Target
	doc     *Document         // the original, with steps for telling alternatives apart
	left    int               // subschemas that are still allowed
	writes  steps             // of merging and writing values
	aliases map[string]string // of the names of properties, nil before the first is sought
	odd     []string          // the names that have one, in order
	places  places            // of what is merged, nil where that is not told of
	origins origins           // of keywords that were merged
	lossy   bool              // something was lost when the root was merged
	changes []Change
	silent  bool // something was changed that is not listed
}

// For rewrites a schema whose root is an object. It must have been compiled, so
// that its keywords have the right shapes.
//
// A root that a provider refuses is merged into a plain object. Where that would
// lose something which the provider's dialect can say elsewhere, the schema
// becomes that of the property that [Wrapper] names, the only one. GoogleAI is
// told of one alternative only wherever it stands, so there the root is merged.
func For(target Target, root map[string]any) Result {
	merged, lossy := write(target, root)
	name := Wrapper(root)
	if !lossy || name == "" || target == GoogleAI {
		return merged
	}
	outer := wrap(root, name)
	if target == Gemini { // which has no such keyword
		delete(outer, "additionalProperties")
	}
	wrapped, _ := write(target, outer)
	if target == Gemini && wrapped.lost() >= max(merged.lost(), 1) {
		return merged // which says as much
	}
	for i, c := range wrapped.Changes {
		wrapped.Changes[i].Path = unwrapped(c.Path, name)
	}
	wrapped.Changed = true
	wrapped.Changes = append([]Change{{
		Effect: Same, Note: "asked for as the property " + strconv.Quote(name) + ", because the root must be an object without alternatives",
	}}, wrapped.Changes...)
	return wrapped
}

// lost counts the keywords to which the model is not held. That a value is JSON
// text is no matter of the root.
func (r *Result) lost() int {
	lost := map[string]bool{}
	for _, c := range r.Changes {
		if c.Effect == Wider && c.Keyword != "" {
			lost[c.Keyword] = true
		}
	}
	return len(lost)
}

// write rewrites a schema with its root merged, and reports whether that lost
// something.
func write(target Target, root map[string]any) (r Result, lossy bool) {
	w := &writer{target: target, doc: &Document{Root: root, Left: maxSteps}, left: maxNodes, writes: maxSteps}
	switch target {
	case Gemini, GoogleAI:
		out := w.gemini()
		return Result{Root: out, Changes: w.distinct(), Changed: true}, w.lossy
	case OpenAIStrict:
		if out, ok := w.strict(); ok {
			return Result{Root: out, Changes: w.distinct(), Changed: w.silent || len(w.changes) > 0, Strict: true}, w.lossy
		}
		why := w.changes[len(w.changes)-1]
		r, lossy = write(OpenAI, root)
		r.Changes = append([]Change{why}, r.Changes...)
		return r, lossy
	}
	out := w.standard()
	return Result{Root: out, Changes: w.distinct(), Changed: len(w.changes) > 0}, w.lossy
}

// note records a change.
func (w *writer) note(at, keyword string, effect Effect, text string) {
	for _, stood := range w.origins.of(at, keyword) {
		w.changes = append(w.changes, Change{Path: stood, Keyword: keyword, Effect: effect, Note: text})
	}
}

// distinct lists the changes, each once: what stands beside alternatives is written
// in each of them.
func (w *writer) distinct() []Change {
	seen := make(map[Change]bool, len(w.changes))
	return slices.DeleteFunc(w.changes, func(c Change) bool {
		again := seen[c]
		seen[c] = true
		return again
	})
}

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// names lists the strings of a list.
func names(v any) []string {
	var out []string
	for _, item := range list(v) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func anys(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// types lists what the type keyword names.
func types(s map[string]any) []string {
	if name, ok := s["type"].(string); ok {
		return []string{name}
	}
	return names(s["type"])
}

// typeOf names the type of a value.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// show writes a value as JSON.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}
