package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// One middleware records the calls, and another within it allows only tools that read.
func ExampleMiddleware() {
	account := func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
			result, err := next(ctx, r)
			fmt.Println(strings.TrimSpace(r.Method+" "+r.Name), "→", err)
			return result, err
		}
	}
	readOnly := func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
			if r.Method == "tools/call" && !strings.HasPrefix(r.Name, "read_") {
				return nil, errors.New("not allowed")
			}
			return next(ctx, r)
		}
	}
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/call":      `{"content":[]}`,
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{
		Middleware: []mcpclient.Middleware{account, readOnly},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	for _, tool := range []string{"read_mail", "send_mail"} {
		if _, err := client.CallTool(ctx, tool, nil); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// server/discover → <nil>
	// tools/call read_mail → <nil>
	// tools/call send_mail → not allowed
	// call tool "send_mail": not allowed
}
