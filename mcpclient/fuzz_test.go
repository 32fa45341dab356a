package mcpclient_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The client continues to read after any message of the server.
func FuzzReceive(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no transcripts to begin with: ", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(f, err)
		for _, section := range txtar.Parse(data).Files {
			f.Add(bytes.TrimSpace(section.Data), len(data)%2 == 0)
		}
	}
	f.Add([]byte(`[{"id":2,"result":null},{"id":2,"error":{}},{"method":"notifications/cancelled","params":{"requestId":null}}]`), false)
	f.Add([]byte(`{"id":1e2,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[[]]}],"maxTokens":1}}`), false)
	f.Fuzz(func(t *testing.T, data []byte, isModern bool) {
		opts := asks(legacy())
		if isModern {
			opts.Protocol.Revision = mcp.Revision20260728
		}
		marked := make(chan bool)
		opts.OnNotification = func(n *mcp.Notification) {
			if n.Method == "the mark of the test" {
				close(marked)
			}
		}
		c, p := connectedPeer(t, opts)
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan bool)
		go func() {
			defer close(returned)
			_, _ = c.CallTool(ctx, "a", nil)
		}()
		p.next()
		_ = p.conn.Send(t.Context(), data)
		p.send(`{"method":"the mark of the test"}`)
		<-marked
		cancel()
		<-returned
		noError(t, c.Err(), "the connection ended")
	})
}
