package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// MetaPrefix begins the names of the protocol's own members of _meta, and of its extensions.
const MetaPrefix = "io.modelcontextprotocol/"

// Greeting is what a server says of itself: the result of initialize or of
// server/discover.
type Greeting struct {
	Modern     bool     // it is of server/discover: to be set before the JSON is read
	ResultType []byte   // of server/discover, as it came; nil for none
	Revision   string   // of initialize: the server's choice
	Revisions  []string // of server/discover: what the server takes
	Server     *Server  // without the revision
}

// UnmarshalJSON reads what is valid JSON. Names count as they are written, and of
// members with the same name the last.
func (g *Greeting) UnmarshalJSON(raw []byte) error {
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	g.Server = new(Server)
	g.decode(&d)
	return d.Err()
}

func (g *Greeting) decode(d *jsonrpc.Decoder) {
	var inMeta Implementation
	for key := range d.Members {
		switch name := string(key); {
		case name == "resultType" && g.Modern:
			g.ResultType = d.Raw()
		case name == "protocolVersion" && !g.Modern:
			g.Revision = jsonrpc.StringMember(d, "protocolVersion", d.Raw())
		case name == "supportedVersions" && g.Modern:
			g.Revisions = jsonrpc.StringsMember(d, "supportedVersions")
		case name == "capabilities":
			g.Server.Capabilities.decode(d)
		case name == "serverInfo": // of initialize, and where drafts of server/discover had it
			g.Server.Info.decode(d)
		case name == "_meta":
			g.meta(d, &inMeta)
		case name == "instructions":
			g.Server.Instructions = jsonrpc.StringMember(d, "instructions", d.Raw())
		}
	}
	if inMeta.Name != "" && g.Modern {
		g.Server.Info = inMeta
	}
	g.Server.Revisions = g.Revisions
}

// maxKeptMeta bounds the _meta that a client keeps of its server, and the
// capabilities that it does not know, in bytes.
const maxKeptMeta = 64 << 10

// meta keeps _meta, and finds in it who the server is. One that is larger than the
// bound is only read.
func (g *Greeting) meta(d *jsonrpc.Decoder, info *Implementation) {
	raw := d.Raw()
	g.Server.Meta = nil
	if len(raw) > 0 && len(raw) <= maxKeptMeta && raw[0] == '{' {
		g.Server.Meta = bytes.Clone(raw)
	}
	in := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	for key := range jsonrpc.MembersOf(&in) {
		if string(key) == MetaPrefix+"serverInfo" {
			info.decode(&in)
		}
	}
	if err := in.Err(); err != nil && g.Modern {
		d.Fail(err)
	}
}

// maxOthers bounds the capabilities that are kept though they are not known.
const maxOthers = 100

func listCapability(d *jsonrpc.Decoder) *ListCapability {
	if d.Kind() == 'n' {
		return nil
	}
	c := new(ListCapability)
	for key := range jsonrpc.MembersOf(d) {
		if string(key) == "listChanged" {
			c.ListChanged = jsonrpc.BooleanMember(d, "listChanged")
		}
	}
	return c
}

func resourceCapability(d *jsonrpc.Decoder) *ResourceCapability {
	if d.Kind() == 'n' {
		return nil
	}
	c := new(ResourceCapability)
	for key := range jsonrpc.MembersOf(d) {
		switch string(key) {
		case "listChanged":
			c.ListChanged = jsonrpc.BooleanMember(d, "listChanged")
		case "subscribe":
			c.Subscribe = jsonrpc.BooleanMember(d, "subscribe")
		}
	}
	return c
}

// emptyObject decodes an object that says all by being there.
func emptyObject(d *jsonrpc.Decoder) *struct{} {
	if d.Kind() == 'n' {
		return nil
	}
	for range jsonrpc.MembersOf(d) {
		continue
	}
	return &struct{}{}
}

func taskCapability(d *jsonrpc.Decoder) *TaskCapability {
	if d.Kind() == 'n' {
		return nil
	}
	c := new(TaskCapability)
	jsonrpc.ObjectMember(d, "tasks", c)
	return c
}

func (i *Implementation) decode(d *jsonrpc.Decoder) {
	*i = Implementation{}
	for key := range jsonrpc.MembersOf(d) {
		switch string(key) {
		case "name":
			i.Name = jsonrpc.StringMember(d, "name", d.Raw())
		case "title":
			i.Title = jsonrpc.StringMember(d, "title", d.Raw())
		case "version":
			i.Version = jsonrpc.StringMember(d, "version", d.Raw())
		case "description":
			i.Description = jsonrpc.StringMember(d, "description", d.Raw())
		case "websiteUrl":
			i.WebsiteURL = jsonrpc.StringMember(d, "websiteUrl", d.Raw())
		case "icons":
			jsonrpc.UnmarshalMember(d, "icons", &i.Icons)
		}
	}
}

func (c *ServerCapabilities) decode(d *jsonrpc.Decoder) {
	*c = ServerCapabilities{}
	size := 0 // of what is kept though it is not known
	for key := range jsonrpc.MembersOf(d) {
		switch string(key) {
		case "tools":
			c.Tools = listCapability(d)
		case "prompts":
			c.Prompts = listCapability(d)
		case "resources":
			c.Resources = resourceCapability(d)
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
		default:
			size += len(key)
			if raw := d.Raw(); len(c.Others) < maxOthers && size+len(raw) <= maxKeptMeta {
				size += len(raw)
				c.other(string(key), raw)
			}
		}
	}
}

func (c *ServerCapabilities) other(name string, raw []byte) {
	if c.Others == nil {
		c.Others = map[string]json.RawMessage{}
	}
	c.Others[name] = bytes.Clone(raw)
}
