package skills_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

func Example() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, library(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	for skill, err := range skills.List(ctx, client) {
		if err != nil {
			fmt.Println(err)
			return
		}
		loaded, err := skills.Load(ctx, client, skill)
		if err != nil {
			fmt.Println(err) // a *skills.Error: do not use it
			return
		}
		fmt.Printf("%s: %q\n", skill.Name, loaded.Instructions)
	}
	// Output: pdf: "Fill forms.\n"
}

// library is a server with one skill.
func library() mcpclient.Transport {
	transport, server := mcpclient.Pipe()
	answers := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}}`,
		"skills/list":     `{"skills":[{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf"},"resources":[{"uri":"skill://pdf/SKILL.md","digest":"sha256:7d7f3aac5f0704bd953208df2ba5aad5711194c97d3ce77b02e03aaef34dafd3","size":30}]}]}`,
		"resources/read":  `{"contents":[{"uri":"skill://pdf/SKILL.md","text":"---\nname: pdf\n---\nFill forms.\n"}]}`,
	}
	go func() {
		for {
			raw, err := server.Recv()
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(raw, &m) == nil && m.ID != nil {
				_ = server.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answers[m.Method]))
			}
		}
	}()
	return transport
}
