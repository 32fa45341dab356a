// Package fakehost imitates OpenAI's and Anthropic's APIs for tests.
//
// Requests are checked by the schemas that the hosts publish. The files here are written from OpenAI's OpenAPI
// description (CreateResponse and CreateChatCompletionRequest of github.com/openai/openai-openapi) and Anthropic's
// reference (MessageCreateParams of github.com/anthropics/anthropic-sdk-typescript). They have the fields that our
// models may send, and refuse others, as the hosts refuse unknown fields.
//
// If the variable MODEL_SCHEMAS names a folder with the complete descriptions, requests are checked by those, too:
//
//	openapi.json    of github.com/openai/openai-openapi
//	anthropic.json  made of the types of Anthropic's SDK: npx ts-json-schema-generator --path src/resources/messages/messages.ts
//	                --type MessageCreateParams --no-type-check
package fakehost

import (
	_ "embed"
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

//go:embed openai.json
var openai []byte

//go:embed anthropic.json
var anthropic []byte

// Responses, Chat and Messages check a request.
var (
	Responses = both(openai, "Responses", "openapi.json", "#/components/schemas/", "CreateResponse")
	Chat      = both(openai, "Chat", "openapi.json", "#/components/schemas/", "CreateChatCompletionRequest")
	Messages  = both(anthropic, "Messages", "anthropic.json", "#/definitions/", "MessageCreateParams")
)

// both returns a check by a definition of ours, and by a schema of the complete description if there is one. It panics
// if a schema cannot be used, as the tests would prove less than they claim.
func both(ours []byte, definition, file, under, name string) func(body []byte) error {
	read := sync.OnceValue(func() (all []*schema.Schema) {
		s, err := load(ours, "#/$defs/", definition)
		all = append(all, s)
		if folder := os.Getenv("MODEL_SCHEMAS"); folder != "" && err == nil {
			var data []byte
			if data, err = os.ReadFile(filepath.Join(folder, file)); err == nil {
				s, err = load(data, under, name)
			}
			all = append(all, s)
		}
		if err != nil {
			panic(fmt.Sprintf("%s, %s of %s: %v", definition, name, file, err))
		}
		return all
	})
	return func(body []byte) error {
		for _, s := range read() {
			if err := s.Validate(body); err != nil {
				return err
			}
		}
		return nil
	}
}

// What the documents do not mean as JSON Schema reads it: oneOf with a discriminator, where one alternative may include
// another, and a text as the value of deprecated.
var (
	meant        = strings.NewReplacer(`"oneOf":`, `"anyOf":`)
	notAnnotated = regexp.MustCompile(`"deprecated": ?"(?:[^"\\]|\\.)*",?`)
)

// load compiles a schema of a document with the schemas that it needs.
func load(data []byte, under, name string) (*schema.Schema, error) {
	var document struct {
		Components  struct{ Schemas map[string]json.RawMessage }
		Definitions map[string]json.RawMessage
		Ours        map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	all := document.Ours
	if all == nil {
		all = document.Definitions
	}
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

// references lists the names that a schema refers to.
func references(s, under string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, part := range strings.Split(s, `"`+under)[1:] {
			if name, _, _ := strings.Cut(part, `"`); !yield(name) {
				return
			}
		}
	}
}

// Refuse returns an error with the text of a host, which does not follow Go's style.
func Refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

type refusal string

func (r refusal) Error() string { return string(r) }
