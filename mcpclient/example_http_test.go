package mcpclient_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func ExampleClient_RegisterTools() {
	var client mcpclient.Client // connected by mcpclient.Connect
	err := client.RegisterTools(&mcpclient.Tool{
		Name:        "report",
		InputSchema: json.RawMessage(`{"properties":{"region":{"type":["string","null"],"x-mcp-header":"Region"}}}`),
	})
	fmt.Println(err)
	// Output:
	// tool "report": mcpclient: invalid result: inputSchema.properties.region: x-mcp-header "Region" needs the type string, integer or boolean, and has "[\"string\",\"null\"]"
}
