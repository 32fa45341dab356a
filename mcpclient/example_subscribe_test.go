package mcpclient_test

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func ExampleClient_Subscribe() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, news(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	subscription, err := client.Subscribe(ctx, mcp.SubscriptionFilter{
		ToolsListChanged: true,
		Resources:        []string{"news://today"},
	})
	if err != nil {
		fmt.Println(err) // a CapabilityError: ask again now and then instead
		return
	}
	defer subscription.Close()

	for change, err := range subscription.Changes(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch change.Kind {
		case mcp.ResourceUpdated:
			fmt.Println("read again:", change.URI)
		case mcp.ToolsChanged:
			fmt.Println("list the tools again")
		case mcp.Stale:
			fmt.Println("read and list everything again")
		}
	}
	// Output:
	// read again: news://today
	// list the tools again
	// mcpclient: the server ended the subscription
}
