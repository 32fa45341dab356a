package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// offers are the capabilities of the installed handlers, as declared when the client connected.
// Nil is not offered.
type offers struct {
	sampling    *mcp.SamplingCapability
	elicitation *mcp.ElicitationCapability
	roots       bool
	quietRoots  bool // changes are not announced
	tasks       bool // the extension of the modern era

	base  json.RawMessage // declared in addition, or nil
	exact json.RawMessage // declared instead, or nil
}

// offers returns the client's capabilities: the installed handlers' with the additions of
// Options.Protocol.Capabilities, or with ExactCapabilities only what that declares. The error says
// where it disagrees with the handlers.
func (o *Options) offers() (offers, error) {
	out := offers{roots: o.givesRoots(), tasks: true}
	if o.Sampling != nil {
		out.sampling = new(inquiry.SamplingCapabilityOf(o.Sampling))
	}
	if o.Elicitation != nil {
		out.elicitation = new(inquiry.ElicitationCapabilityOf(o.Elicitation))
		if !out.elicitation.Form && !out.elicitation.URL {
			return out, errors.New("Options.Elicitation: its capability has no mode: want forms, URLs or both")
		}
	}
	if o.Protocol.Capabilities == nil {
		return out, nil
	}
	given, err := jsonrpc.EncodeParams(o.Protocol.Capabilities)
	switch {
	case err != nil:
		return out, fmt.Errorf("Options.Protocol.Capabilities: %w", err)
	case given == nil:
		return out, errors.New("Options.Protocol.Capabilities: want a JSON object")
	}
	given = bytes.Clone(given)
	all := given
	if o.Protocol.ExactCapabilities {
		out.exact = given
	} else {
		all = mergeMissing(given, out.encode(`{"listChanged":true}`, true))
		out.base = given
	}
	var d declared
	if err := json.Unmarshal(all, &d); err != nil {
		return out, fmt.Errorf("Options.Protocol.Capabilities: %w", err)
	}
	out.adopt(&d)
	return out, o.checkDeclared(&d)
}

// declared holds the parts of Options.Protocol.Capabilities that handlers answer, and the extensions.
type declared struct {
	Sampling *struct {
		Tools   *struct{} `json:"tools"`
		Context *struct{} `json:"context"`
	} `json:"sampling"`
	Elicitation *struct {
		Form *struct{} `json:"form"`
		URL  *struct{} `json:"url"`
	} `json:"elicitation"`
	Roots *struct {
		ListChanged bool `json:"listChanged"`
	} `json:"roots"`

	Extensions map[string]json.RawMessage `json:"extensions"`
}

func (f *offers) adopt(d *declared) {
	f.quietRoots = d.Roots == nil || !d.Roots.ListChanged
	_, f.tasks = d.Extensions[metakey.Tasks]
	if f.sampling != nil && d.Sampling != nil {
		f.sampling = &mcp.SamplingCapability{Tools: d.Sampling.Tools != nil, Context: d.Sampling.Context != nil}
	}
	if f.elicitation != nil && d.Elicitation != nil {
		form := d.Elicitation.Form != nil || d.Elicitation.URL == nil // {} means form
		f.elicitation = &mcp.ElicitationCapability{Form: form, URL: d.Elicitation.URL != nil}
	}
}

// checkDeclared returns an error for what is declared without a handler, for a handler that is not
// declared, and for invalid names of extensions.
func (o *Options) checkDeclared(d *declared) (err error) {
	if !o.Protocol.AllowUndeclared {
		err = errors.Join(
			checkAgreement("sampling", d.Sampling != nil, "Options.Sampling", o.Sampling != nil),
			checkAgreement("elicitation", d.Elicitation != nil, "Options.Elicitation", o.Elicitation != nil),
			checkAgreement("roots", d.Roots != nil, "Options.Roots", o.givesRoots()),
		)
	}
	for name := range d.Extensions {
		err = errors.Join(err, checkExtension(name))
	}
	return err
}

// checkExtension returns an error for an invalid name of an extension. Unlike in keys of _meta,
// the prefix is mandatory (2026-07-28 versioning, "Extension Negotiation").
func checkExtension(name string) error {
	prefixed, err := metakey.Check(name)
	if err == nil && !prefixed {
		err = errors.New("name needs a prefix, such as com.example/")
	}
	if err != nil {
		return fmt.Errorf("Options.Protocol.Capabilities: extension %q: %w", excerpt.Cut(name), err)
	}
	return nil
}

// checkAgreement returns an error for a declared capability without a handler, and for a handler
// without its capability.
func checkAgreement(capability string, declared bool, handler string, installed bool) error {
	switch {
	case declared && !installed:
		return fmt.Errorf("Options.Protocol.Capabilities declares %s, and %s is nil: install it, or set Options.Protocol.AllowUndeclared",
			capability, handler)
	case installed && !declared:
		return fmt.Errorf("%s is set, and Options.Protocol.Capabilities does not declare %s: declare it, or set Options.Protocol.AllowUndeclared",
			handler, capability)
	}
	return nil
}

// encode returns the declared capabilities as a JSON object. roots is the derived declaration of roots. tasks declares the
// extension for tasks, too.
func (f *offers) encode(roots string, tasks bool) []byte {
	if f.exact != nil {
		return f.exact
	}
	own := []byte{'{'}
	if e := f.elicitation; e != nil {
		own = jsonrpc.AppendMember(own, "elicitation", flags(flag{"form", e.Form}, flag{"url", e.URL}))
	}
	if tasks {
		own = jsonrpc.AppendMember(own, "extensions", flags(flag{metakey.Tasks, true}))
	}
	if f.roots {
		own = jsonrpc.AppendMember(own, "roots", []byte(roots))
	}
	if s := f.sampling; s != nil {
		own = jsonrpc.AppendMember(own, "sampling", flags(flag{"context", s.Context}, flag{"tools", s.Tools}))
	}
	own = jsonrpc.CloseObject(own)
	if f.base != nil {
		return mergeMissing(f.base, own)
	}
	return own
}

type flag struct {
	name string
	set  bool
}

// flags returns a capability whose parts are empty objects, if they are set.
func flags(parts ...flag) []byte {
	out := []byte{'{'}
	for _, part := range parts {
		if part.set {
			out = jsonrpc.AppendMember(out, part.name, []byte("{}"))
		}
	}
	return jsonrpc.CloseObject(out)
}

// mergeMissing returns object with the members of more that it lacks, at every depth. A member that
// is null counts as lacking. Both are valid JSON objects.
func mergeMissing(object, more []byte) []byte {
	var all, add map[string]json.RawMessage
	_ = json.Unmarshal(object, &all)
	_ = json.Unmarshal(more, &add)
	for name, value := range add {
		switch own := all[name]; {
		case own == nil || string(own) == "null":
			all[name] = value
		case own[0] == '{' && value[0] == '{':
			all[name] = mergeMissing(own, value)
		}
	}
	raw, _ := jsonrpc.Marshal(all)
	return raw
}

const skillsExtension = "io.modelcontextprotocol/skills"

// requirement returns the capability that a method needs, "" for none, and whether the server declares it.
func requirement(s *mcp.ServerCapabilities, method string) (capability string, declared bool) {
	switch method {
	case "tools/list", "tools/call":
		return "tools", s.Tools != nil
	case "resources/list", "resources/templates/list", "resources/read":
		return "resources", s.Resources != nil
	case "resources/subscribe", "resources/unsubscribe":
		return "resources.subscribe", s.Resources != nil && s.Resources.Subscribe
	case "prompts/list", "prompts/get":
		return "prompts", s.Prompts != nil
	case "logging/setLevel":
		return "logging", s.Logging != nil
	case "completion/complete":
		return "completions", s.Completions != nil
	case "tasks/cancel":
		return "tasks.cancel", s.Tasks != nil && s.Tasks.Cancel != nil
	case "tasks/list":
		return "tasks.list", s.Tasks != nil && s.Tasks.List != nil
	case "skills/list", "skills/get":
		_, declared = s.Extensions[skillsExtension]
		return "the extension " + skillsExtension, declared
	}
	return "", true
}
