// Program successor continues a run that another program has begun. It has another prompt,
// another model and other code for the same tools. It answers the form for which the run
// waits, and prints what the model answers.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/tmc/langchaingo/llms"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/mcpclient"
)

func main() {
	dir := flag.String("files", "", "directory of a store of files")
	database := flag.String("sqlite", "", "file of a store in SQLite")
	server := flag.String("server", "", "URL of the server that has asked")
	id := flag.String("run", "", "id of the run")
	flag.Parse()
	answer, err := succeed(context.Background(), *dir, *database, *server, *id)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(answer)
}

// succeed brings the run to its answer.
func succeed(ctx context.Context, dir, database, server, id string) (string, error) {
	store, err := open(ctx, dir, database)
	if err != nil {
		return "", err
	}
	toolset, err := adapter.Open(ctx, []adapter.Server{{Name: "office", Transport: &mcpclient.HTTP{URL: server}}},
		nil)
	if err != nil {
		return "", err
	}
	defer toolset.Close()
	type name struct {
		Name string `json:"name"`
	}
	stamp := adapter.Func("stamp", "Puts a stamp on a name, in a new way.", func(_ context.Context, n name) (string, error) {
		return fmt.Sprintf("%s, stamped", n.Name), nil
	}, nil)
	a, err := agent.New(lc.Model(model{}, nil), &agent.Options{
		Name: "clerk", System: "Be thorough.", Tools: []adapter.Source{stamp, toolset}, Durable: agent.Durable{Store: store},
	})
	if err != nil {
		return "", err
	}
	key := run.Key{ID: id}
	questions, err := a.Questions(ctx, key)
	if err != nil {
		return "", err
	}
	if len(questions) != 1 || questions[0].Kind != run.QuestionForm {
		return "", fmt.Errorf("got the questions %+v, want a form", questions)
	}
	form, err := questions[0].Accept(map[string]any{"name": "Ann"})
	if err != nil {
		return "", err
	}
	result, err := a.Resume(ctx, key, form)
	if err != nil {
		return "", err
	}
	return result.Output, nil
}

func open(ctx context.Context, dir, database string) (record.Store, error) {
	if dir != "" {
		return filestore.Open(dir, nil)
	}
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return nil, err
	}
	return sqlstore.OpenSQLite(ctx, db)
}

// model stamps what the server has registered, and then answers with all results.
type model struct{}

func (model) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	var results []string
	for _, m := range messages {
		for _, part := range m.Parts {
			if r, ok := part.(llms.ToolCallResponse); ok {
				results = append(results, r.Content)
			}
		}
	}
	choice := &llms.ContentChoice{StopReason: "stop"}
	switch len(results) {
	case 0:
		return nil, errors.New("the history has no result of the server")
	case 1:
		choice.StopReason = "tool_calls"
		choice.ToolCalls = []llms.ToolCall{{ID: "2", Type: "function", FunctionCall: &llms.FunctionCall{Name: "stamp", Arguments: `{"name":"Ann"}`}}}
	default:
		choice.Content = fmt.Sprintf("%q", results)
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (model) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}
