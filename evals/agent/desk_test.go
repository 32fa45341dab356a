package agenteval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer is set in a process that is an MCP server over its standard input and output.
const asServer = "MCPCHAIN_EVALS_TEST_SERVER"

// serveDesk greets people, and asks them for their names. LEDGER is a file for the process and its calls,
// GREETED one for what was said.
func serveDesk(ctx context.Context) error {
	if err := note("LEDGER", fmt.Sprintln("began", os.Getpid())); err != nil {
		return err
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "greet", Description: "Greets a person.", InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}, greet)
	s.AddTool(&sdk.Tool{Name: "welcome", Description: "Asks for a name, and greets.", InputSchema: json.RawMessage(`{"type":"object"}`)}, welcome)
	return s.Run(ctx, &sdk.StdioTransport{})
}

// note appends a text to the file that a variable names.
func note(variable, text string) error {
	name := os.Getenv(variable)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func greet(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	if token := r.Params.GetProgressToken(); token != nil {
		if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1}); err != nil {
			return nil, err
		}
	}
	return said("Hello " + in.Name)
}

// welcome sends a request to the client.
func welcome(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{
		Mode: "form", Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	})
	if err != nil {
		return nil, err
	}
	return said(fmt.Sprint("Hello ", answer.Content["name"]))
}

func said(text string) (*sdk.CallToolResult, error) {
	if err := note("LEDGER", fmt.Sprintln("called", os.Getpid())); err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, note("GREETED", text+"\n")
}
