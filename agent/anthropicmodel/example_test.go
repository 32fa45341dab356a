package anthropicmodel_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

func ExampleNew() {
	host := &fakehost.Claude{Key: "key-1", Reply: func(*fakehost.ClaudeRequest) []fakehost.Block {
		return []fakehost.Block{{Type: "thinking", Text: "A greeting."}, {Type: "text", Text: "Hello!"}}
	}}
	server := httptest.NewServer(host)
	defer server.Close()

	claude, err := anthropicmodel.New("key-1", "claude-opus-4-8", &anthropicmodel.Options{BaseURL: server.URL, Effort: "high"})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}, Stream: true}
	for delta, err := range claude.Generate(context.Background(), request) {
		switch {
		case err != nil:
			fmt.Println(err)
		case delta.Response != nil:
			fmt.Println("ended:", delta.Response.Finish)
		case delta.Text != "":
			fmt.Printf("%q\n", delta.Text)
		}
	}
	// Output:
	// "Hel"
	// "lo!"
	// ended: stop
}
