package skills_test

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/testenv"
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
		instructions, err := skills.Load(ctx, client, skill)
		if err != nil {
			fmt.Println(err) // do not use it
			return
		}
		fmt.Printf("%s: %q\n", skill.Name, instructions)
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
	go testenv.Serve(server, func(m *testenv.Message) string { return `"result":` + answers[m.Method] })
	return transport
}
