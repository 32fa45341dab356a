package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// library is a modern server of the examples: a table of results by method.
func library(results map[string]string) mcpclient.Transport {
	transport, conn := mcpclient.Pipe()
	go func() {
		for {
			raw, err := conn.Recv()
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(raw, &m) != nil || m.ID == nil {
				continue
			}
			answer := `"error":{"code":-32601,"message":"no such method"}`
			if result, ok := results[m.Method]; ok {
				answer = `"result":` + result
			}
			_ = conn.Send(context.Background(), []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+answer+`}`))
		}
	}()
	return transport
}

func ExampleClient_Complete() {
	server := library(map[string]string{
		"server/discover":     `{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{},"completions":{}}}`,
		"completion/complete": `{"completion":{"values":["python","pytorch"],"hasMore":true}}`,
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, server, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	completion, err := client.Complete(ctx, &mcpclient.CompleteParams{
		Ref:      mcpclient.PromptRef("review"),
		Argument: "language",
		Value:    "py",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(completion.Values, completion.HasMore)
	// Output: [python pytorch] true
}
