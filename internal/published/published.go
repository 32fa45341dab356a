// Package published has the schemas that hosts of models publish of their APIs, for the fakes of these hosts in tests.
//
// They are not in the repository. The variable MODEL_SCHEMAS names a folder with
//
//	openapi.json    of github.com/openai/openai-openapi
//	anthropic.json  made of the types of Anthropic's SDK: npx ts-json-schema-generator --path src/resources/messages/messages.ts
//	                --type MessageCreateParams --no-type-check, in github.com/anthropics/anthropic-sdk-typescript
//
// Without it the fakes go by their own rules alone.
package published

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/schema"
)

// Responses, Chat and Messages check a request, if there is a schema of it.
var (
	Responses = compiled("openapi.json", "#/components/schemas/", "CreateResponse")
	Chat      = compiled("openapi.json", "#/components/schemas/", "CreateChatCompletionRequest")
	Messages  = compiled("anthropic.json", "#/definitions/", "MessageCreateParams")
)

// compiled returns the check by the schema of a name, which is read once. A file that cannot be used is a panic: the tests would
// prove less than they say.
func compiled(file, under, name string) func(body []byte) error {
	read := sync.OnceValue(func() *schema.Schema {
		folder := os.Getenv("MODEL_SCHEMAS")
		if folder == "" {
			return nil
		}
		s, err := load(filepath.Join(folder, file), under, name)
		if err != nil {
			panic(fmt.Sprintf("%s of %s: %v", name, file, err))
		}
		return s
	})
	return func(body []byte) error {
		if s := read(); s != nil {
			return s.Validate(body)
		}
		return nil
	}
}

// What the documents do not mean as JSON Schema reads it: alternatives that a member tells apart, where one may include another, and
// a text instead of whether something is deprecated.
var (
	meant        = strings.NewReplacer(`"oneOf":`, `"anyOf":`)
	notAnnotated = regexp.MustCompile(`"deprecated": ?"(?:[^"\\]|\\.)*",?`)
)

// load compiles a schema of a document with the schemas that it needs.
func load(file, under, name string) (*schema.Schema, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document struct {
		Components  struct{ Schemas map[string]json.RawMessage }
		Definitions map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	all := document.Definitions
	if all == nil {
		all = document.Components.Schemas
	}
	needed := map[string]json.RawMessage{}
	for names := []string{name}; len(names) > 0; names = names[1:] {
		s := all[names[0]]
		if s == nil {
			return nil, fmt.Errorf("there is no schema %q", names[0])
		}
		if _, seen := needed[names[0]]; seen {
			continue
		}
		needed[names[0]] = json.RawMessage(notAnnotated.ReplaceAllString(meant.Replace(strings.ReplaceAll(string(s), under, "#/$defs/")), ""))
		names = slices.AppendSeq(names, references(string(s), under))
	}
	whole, err := json.Marshal(map[string]any{"$ref": "#/$defs/" + name, "$defs": needed})
	if err != nil {
		return nil, err
	}
	return schema.Compile(whole)
}

// references are the names that a schema refers to.
func references(s, under string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, part := range strings.Split(s, `"`+under)[1:] {
			if name, _, _ := strings.Cut(part, `"`); !yield(name) {
				return
			}
		}
	}
}
