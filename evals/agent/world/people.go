//lint:file-ignore SA1019 servers ask the model as long as the protocol has it

package world

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// people returns the tools of the server people, which ask people and models, and store the answers in its file.
func people(p *stateFolder, _ *suite.Server) ([]tool, error) {
	kept := []string{}
	keep := func(text string) (*sdk.CallToolResult, error) {
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		kept = append(kept, text)
		return textResult(text, false), p.store(kept)
	}
	form := func(message, schema string) *sdk.ElicitParams {
		return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
	}
	const (
		who   = `{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`
		order = `{"type":"object","properties":{"dish":{"type":"string","enum":["soup","stew","salad"]},` +
			`"count":{"type":"integer","minimum":1,"maximum":9},"spicy":{"type":"boolean","default":false}},"required":["dish","count"]}`
	)
	page := &sdk.ElicitParams{Mode: "url", Message: "Please pay.", URL: "https://pay.example/order/7", ElicitationID: "7"}
	colour := &sdk.SamplingMessage{Role: "user", Content: &sdk.TextContent{Text: "Name a colour."}}
	question := &sdk.CreateMessageParams{MaxTokens: 64, Messages: []*sdk.SamplingMessage{colour}}
	tools := []tool{
		{name: "ask_name", about: "Asks the person for their name and keeps it.", ask: asks("name", form("What is your name?", who), keep)},
		{name: "ask_order", about: "Asks the person what to cook and takes the order.", ask: asks("order", form("What may we cook?", order), keep)},
		{name: "visit_page", about: "Asks the person to pay at a page.", ask: asks("page", page, keep)},
		{name: "ask_model", about: "Asks the host's model for a colour and keeps it.", ask: asks("colour", question, keep)},
	}
	for i := range tools {
		tools[i].schema, tools[i].writes = object(), true
	}
	return tools, p.store(kept)
}

// asks returns the function ask of a tool: it asks a question, and keeps the answer.
func asks(name string, question sdk.InputRequest, keep func(string) (*sdk.CallToolResult, error)) asker {
	return func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := r.Params.InputResponses[name]
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{name: question}}, nil
		}
		data, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		var a struct {
			Action  string
			Content json.RawMessage
		}
		if err := json.Unmarshal(data, &a); err != nil {
			return nil, err
		}
		var text struct{ Text string }
		switch {
		case a.Action != "" && a.Action != "accept":
			return textResult("the person said: "+a.Action, true), nil
		case a.Action == "" && json.Unmarshal(a.Content, &text) == nil: // the answer of a model
			return keep(text.Text)
		}
		return keep(string(a.Content))
	}
}
