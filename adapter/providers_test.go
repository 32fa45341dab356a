package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// recorder records the body of a request and fails.
type recorder struct{ body []byte }

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	var err error
	if r.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	return nil, errors.New("no answer")
}

// langchaingo's providers send the schema unchanged.
func TestProvidersSendTheSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{"$ref":"#/$defs/n"},"a":{"maximum":9007199254740993}},"required":["z"],"$defs":{"n":{"type":"integer"}}}`
	ts := newPeer().tool("x", schema, echo).open(t, nil)
	want, err := json.Marshal(json.RawMessage(ts.Servers()[0].Tools[0].Definition().InputSchema))
	check.Must(t, err)
	var sent recorder
	oai, err := openai.New(openai.WithToken("none"), openai.WithHTTPClient(&sent))
	check.Must(t, err)
	claude, err := anthropic.New(anthropic.WithToken("none"), anthropic.WithHTTPClient(&sent))
	check.Must(t, err)
	for name, model := range map[string]llms.Model{"openai": oai, "anthropic": claude} {
		sent.body = nil
		messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hello")}
		if _, err := model.GenerateContent(t.Context(), messages, llms.WithTools(ts.Catalog(profile.Plain).Definitions()), llms.WithModel("m")); err == nil {
			t.Fatalf("%s: got an answer from nobody", name)
		}
		check.That(t, bytes.Contains(sent.body, want), "%s: got the request %s\nwant it with %s", name, sent.body, want)
	}
}
