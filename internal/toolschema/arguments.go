package toolschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// maxArguments bounds the arguments of one call, in bytes.
const maxArguments = 4 << 20

// agentWrapper is the parameter that langchaingo's OpenAIFunctionsAgent uses for all input of a tool.
const agentWrapper = "__arg1"

// Arguments converts a model's text to the tool's arguments. wrapped means that the model's schema asks for them in
// [Schema.Wrapper]. Never apply Arguments to its own result: an object in the wrapper may be a parameter.
//
// It accepts a JSON object: bare, inside a string or a code fence, in the __arg1 parameter of
// langchaingo's agents, in the wrapper, or before the further lines of ReAct models. A tool with a
// single parameter, or a single required one, also accepts its bare value. An empty text means no
// arguments, and so does a word such as "none" for a tool without parameters.
//
// Arguments that do not fit are repaired if the schema shows what they mean. If they still do not fit, the error is a
// [*schema.Violation]. There are other errors for a text that has no arguments in it, and for one of more than 4 MiB.
func (s *Schema) Arguments(input string, wrapped bool) (json.RawMessage, error) {
	if !wrapped && len(s.aliases) == 0 && len(input) <= maxArguments {
		if args, ok := s.compiled.Plainly([]byte(input)); ok {
			return args, nil
		}
	}
	r := parser{s, wrapped}
	candidates, err := r.candidates(input)
	if err != nil {
		return nil, err
	}
	var first error
	for _, candidate := range candidates {
		args, err := s.fit(candidate)
		if err == nil {
			return jsonrpc.Marshal(args)
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// parser finds the arguments in a model's text.
type parser struct {
	*Schema
	wrapped bool // the model was asked for the wrapper
}

// repairs is the number of repair passes. The first may repair a condition, or a constant by which
// alternatives differ, so that the second finds the right branch.
const repairs = 2

// fit returns the arguments, unchanged or repaired, if they fit the schema.
func (s *Schema) fit(args map[string]any) (map[string]any, error) {
	args = s.restore(args)
	if s.compiled.ValidateValue(args) == nil {
		return args, nil
	}
	r := newRepair(s.Root())
	var err error
	for range repairs {
		if repaired, ok := r.value(s.Root(), args).(map[string]any); ok {
			args = repaired
		}
		if err := schema.Check(args); err != nil {
			return nil, err
		}
		err = s.compiled.ValidateValue(args)
		if err == nil {
			return args, nil
		}
	}
	return nil, err
}

// candidates returns the possible arguments in input, the likeliest first. Without an error there is at least one.
func (r parser) candidates(input string) ([]map[string]any, error) {
	if len(input) > maxArguments {
		return nil, tooLongError(len(input), maxArguments)
	}
	values, err := parseInput(input)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, v := range values {
		out = append(out, r.objects(v, wrapperDepth)...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("want a JSON object with %s, got the text %q", r.shape.names(), excerpt.Limit(strings.TrimSpace(input), 100))
	}
	return out, nil
}

// wrapperDepth bounds the nesting of langchaingo's wrappers.
const wrapperDepth = 3

// objects returns the argument objects that a parsed value may mean, the likeliest first.
func (r parser) objects(v any, depth int) []map[string]any {
	switch v := v.(type) {
	case nil:
		return []map[string]any{{}}
	case map[string]any:
		if inner, ok := r.unwrap(v, r.Wrapper); ok {
			return r.insideProfileWrapper(v, inner)
		}
		if inner, ok := r.unwrap(v, agentWrapper); ok && depth > 0 {
			return r.insideAgentWrapper(v, inner, depth-1)
		}
		return []map[string]any{v}
	case string:
		if len(r.shape.properties) == 0 && isNoInput(v) {
			return []map[string]any{{}}
		}
	}
	if only := r.shape.only; only != "" {
		return []map[string]any{{only: v}}
	}
	return nil
}

// insideProfileWrapper returns the argument objects of v, whose only member is the wrapper of a profile with inner.
func (r parser) insideProfileWrapper(v map[string]any, inner any) []map[string]any {
	if !r.wrapped && r.compiled.ValidateValue(v) == nil {
		return []map[string]any{v}
	}
	inside := insideWrapper(inner)
	if r.wrapped && len(inside) > 0 {
		return inside
	}
	return append(inside, v)
}

// insideAgentWrapper returns the argument objects of v, whose only member is the wrapper of an agent with inner. v itself
// is one of them if the tool may have a property of that name, or if there are no others.
func (r parser) insideAgentWrapper(v map[string]any, inner any, depth int) (out []map[string]any) {
	for _, value := range unquote(inner) {
		out = append(out, r.objects(value, depth)...)
	}
	if len(out) == 0 || r.hasRest {
		out = append(out, v)
	}
	return out
}

// unwrap returns the member with this name if it is the only member, and not a parameter of the tool.
func (r parser) unwrap(v map[string]any, name string) (inner any, ok bool) {
	if len(v) != 1 || name == "" || r.shape.has(name) {
		return nil, false
	}
	inner, ok = v[name]
	return inner, ok
}

// insideWrapper returns the argument objects in the wrapper of a profile: an object, a list of
// names and values, or either as JSON text. A second wrapper inside is a parameter.
func insideWrapper(inner any) []map[string]any {
	switch inner := inner.(type) {
	case map[string]any:
		return []map[string]any{inner}
	case []any:
		if object, ok := entries(inner); ok {
			return []map[string]any{object}
		}
	case string:
		if v, err := schema.Decode([]byte(inner)); err == nil {
			if _, text := v.(string); !text {
				return insideWrapper(v)
			}
		}
	}
	return nil
}

// isNoInput reports whether text stands for "no input". ReAct models always write an input, also for
// tools without parameters.
func isNoInput(text string) bool {
	switch strings.ToLower(strings.Trim(text, " \t\r\n.\"'")) {
	case "", "none", "null", "nil", "n/a", "{}":
		return true
	}
	return false
}

// parseInput returns the possible values of a model's input, the likeliest first: JSON, alone, in a code fence or before a
// tail, or else the text itself without a tail.
func parseInput(input string) ([]any, error) {
	text := strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(input, "\ufffd"), "\ufeff"))
	if text == "" {
		return []any{nil}, nil
	}
	v, err := schema.Decode([]byte(text))
	if err == nil {
		return unquote(v), nil
	}
	if body, ok := insideFence(text); ok {
		if v, err := schema.Decode([]byte(body)); err == nil {
			return unquote(v), nil
		}
		text = body
	} else if v, ok := beforeTail(text); ok {
		return unquote(v), nil
	} else if loc := tail.FindStringIndex(text); loc != nil {
		text = strings.TrimSpace(text[:loc[0]])
	}
	// A text that begins like JSON was meant as JSON. A broken object must not become the value of a parameter.
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return nil, err
	}
	return []any{text}, nil
}

// unquote returns v or, if v is a string, its possible values.
func unquote(v any) []any {
	if text, ok := v.(string); ok {
		return insideString(text)
	}
	return []any{v}
}

// insideString returns the possible values of a string: the JSON in it, and the string itself.
func insideString(text string) []any {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return []any{nil, text}
	}
	if body, ok := insideFence(trimmed); ok {
		trimmed = body
	}
	if v, err := schema.Decode([]byte(trimmed)); err == nil {
		if inner, ok := v.(string); ok { // quoted once more
			if v, err := schema.Decode([]byte(inner)); err == nil {
				return []any{v, inner, text}
			}
		}
		return []any{v, text}
	}
	return []any{text}
}

// tail matches the line after a ReAct model's input, and beginsTail a text that begins with it.
var (
	tail       = regexp.MustCompile(`(?m)^` + tailLine)
	beginsTail = regexp.MustCompile(`^` + tailLine)
)

const tailLine = `[ \t]*(Observation|Thought|Action|Action Input|Final Answer|Question)[ \t]*:`

// insideFence returns the content of a Markdown code fence at the start of text, if nothing but a tail follows it. There
// may be fences in the content, in the text of an argument.
func insideFence(text string) (string, bool) {
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return "", false
	}
	for end := strings.Index(body, "```"); end >= 0; {
		rest := strings.TrimLeft(body[end+3:], " \t\r\n")
		if rest == "" || beginsTail.MatchString(rest) {
			body = body[:end]
			break
		}
		next := strings.Index(body[end+3:], "```")
		if next < 0 {
			return "", false
		}
		end += 3 + next
	}
	if language, code, ok := strings.Cut(body, "\n"); ok && !strings.ContainsAny(language, "{[\" ") {
		body = code
	}
	return strings.TrimSpace(body), true
}

// beforeTail parses a JSON value that a tail follows.
func beforeTail(text string) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, false
	}
	if !beginsTail.MatchString(strings.TrimSpace(text[dec.InputOffset():])) {
		return nil, false
	}
	v, err := schema.Decode(raw)
	return v, err == nil
}
