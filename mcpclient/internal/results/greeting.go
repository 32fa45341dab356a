package results

import (
	"bytes"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Greeting is how a server describes itself: the result of initialize or of server/discover.
type Greeting struct {
	Modern     bool        // the result is of server/discover: set it before the JSON is decoded
	ResultType []byte      // server/discover: raw; nil for none
	Revision   string      // initialize: the server's choice
	Revisions  []string    // server/discover: the revisions that the server speaks
	Server     *mcp.Server // without the revision
}

// UnmarshalJSON decodes valid JSON. Names of members are compared with their case; of members with
// the same name the last counts.
func (g *Greeting) UnmarshalJSON(raw []byte) error {
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	g.Server = new(mcp.Server)
	g.decode(&d)
	return d.Err()
}

func (g *Greeting) decode(d *jsonrpc.Decoder) {
	var inMeta mcp.Implementation
	for key := range d.Members {
		switch name := string(key); {
		case name == "resultType" && g.Modern:
			g.ResultType = d.Raw()
		case name == "protocolVersion" && !g.Modern:
			g.Revision = jsonrpc.StringMember(d, "protocolVersion", d.Raw())
		case name == "supportedVersions" && g.Modern:
			g.Revisions = jsonrpc.StringsMember(d, "supportedVersions")
		case name == "capabilities":
			decodeCapabilities(d, &g.Server.Capabilities)
		case name == "serverInfo": // in initialize, and in drafts of server/discover
			decodeImplementation(d, &g.Server.Info)
		case name == "_meta":
			g.meta(d, &inMeta)
		case name == "instructions":
			g.Server.Instructions = jsonrpc.StringMember(d, "instructions", d.Raw())
		}
	}
	if inMeta.Name != "" && g.Modern {
		g.Server.Info = inMeta
	}
}

// maxKeptMeta bounds the _meta that a client keeps of its server, in bytes.
const maxKeptMeta = 64 << 10

// meta keeps _meta, unless it is larger than the bound, and decodes the server's name from it into
// info. In the legacy era it ignores a _meta that cannot be decoded.
func (g *Greeting) meta(d *jsonrpc.Decoder, info *mcp.Implementation) {
	raw := d.Raw()
	g.Server.Meta = nil
	if len(raw) > 0 && len(raw) <= maxKeptMeta && raw[0] == '{' {
		g.Server.Meta = bytes.Clone(raw)
	}
	in := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	for key := range jsonrpc.MembersOf(&in) {
		if string(key) == metakey.Prefix+"serverInfo" {
			decodeImplementation(&in, info)
		}
	}
	if err := in.Err(); err != nil && g.Modern {
		d.Fail(err)
	}
}

// listCapability decodes what a server offers of a list, nil for null. Only resources can be
// subscribed to: in other capabilities the member subscribe means nothing.
func listCapability(d *jsonrpc.Decoder, subscribes bool) *mcp.ListCapability {
	if d.Kind() == 'n' {
		return nil
	}
	c := new(mcp.ListCapability)
	for key := range jsonrpc.MembersOf(d) {
		switch name := string(key); {
		case name == "listChanged":
			c.ListChanged = jsonrpc.BooleanMember(d, "listChanged")
		case name == "subscribe" && subscribes:
			c.Subscribe = jsonrpc.BooleanMember(d, "subscribe")
		}
	}
	return c
}

func emptyObject(d *jsonrpc.Decoder) *struct{} {
	if d.Kind() == 'n' {
		return nil
	}
	for range jsonrpc.MembersOf(d) {
		continue
	}
	return &struct{}{}
}

func taskCapability(d *jsonrpc.Decoder) *mcp.TaskCapability {
	if d.Kind() == 'n' {
		return nil
	}
	c := new(mcp.TaskCapability)
	jsonrpc.ObjectMember(d, "tasks", c)
	return c
}

func decodeImplementation(d *jsonrpc.Decoder, i *mcp.Implementation) {
	*i = mcp.Implementation{}
	jsonrpc.ObjectMember(d, "serverInfo", i)
}

func decodeCapabilities(d *jsonrpc.Decoder, c *mcp.ServerCapabilities) {
	*c = mcp.ServerCapabilities{}
	for key := range jsonrpc.MembersOf(d) {
		switch string(key) {
		case "tools":
			c.Tools = listCapability(d, false)
		case "prompts":
			c.Prompts = listCapability(d, false)
		case "resources":
			c.Resources = listCapability(d, true)
		case "completions":
			c.Completions = emptyObject(d)
		case "logging":
			c.Logging = emptyObject(d)
		case "tasks":
			c.Tasks = taskCapability(d)
		case "extensions":
			c.Extensions = jsonrpc.MapMember(d, "extensions")
		case "experimental":
			c.Experimental = jsonrpc.MapMember(d, "experimental")
		}
	}
}
