// Package fakehost imitates OpenAI's and Anthropic's APIs for tests.
//
// Requests are checked by the schemas that the hosts publish. The files here are written from OpenAI's OpenAPI
// description (CreateResponse and CreateChatCompletionRequest of github.com/openai/openai-openapi) and Anthropic's
// reference (MessageCreateParams of github.com/anthropics/anthropic-sdk-typescript). They have the fields that our
// models may send, in the forms in which they send them, and refuse others, as the hosts refuse unknown fields.
package fakehost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/internal/schema"
)

//go:embed openai.json
var openai []byte

//go:embed anthropic.json
var anthropic []byte

// Responses, Chat and Messages check a request.
var (
	Responses = newSchemaCheck(openai, "Responses")
	Chat      = newSchemaCheck(openai, "Chat")
	Messages  = newSchemaCheck(anthropic, "Messages")
)

// newSchemaCheck returns a check by a definition of a document. It panics if the schema cannot be
// used, as the tests would prove less than they claim.
func newSchemaCheck(document []byte, definition string) func(body []byte) error {
	read := sync.OnceValue(func() *schema.Schema {
		all := map[string]json.RawMessage{}
		err := json.Unmarshal(document, &all)
		all["$ref"] = json.RawMessage(strconv.Quote("#/$defs/" + definition))
		var s *schema.Schema
		if err == nil {
			whole, _ := json.Marshal(all) // decoded JSON always marshals
			s, err = schema.Compile(whole)
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", definition, err))
		}
		return s
	})
	return func(body []byte) error { return read().Validate(body) }
}

// Refuse returns an error with the text of a host, which does not follow Go's style.
func Refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

type refusal string

func (r refusal) Error() string { return string(r) }
