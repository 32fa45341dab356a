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
// Options.Protocol.Capabilities, or with ExactCapabilities only the latter. The error says where
// they and the handlers disagree.
func (o *Options) offers() (offers, error) {
	out := o.handlerOffers()
	if e := out.elicitation; e != nil && !e.Form && !e.URL {
		return out, errors.New("Options.Elicitation: its capability has no mode: want forms, URLs or both")
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
		all = mergeMissing(given, out.appendTo(nil, `{"listChanged":true}`, metakey.Tasks))
		out.base = given
	}
	var d declared
	if err := json.Unmarshal(all, &d); err != nil {
		return out, fmt.Errorf("Options.Protocol.Capabilities: %w", err)
	}
	out.adopt(&d)
	return out, o.checkDeclared(&d)
}

// declared holds the parts of Options.Protocol.Capabilities that handlers answer, and the
// extensions.
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

// adopt makes the offers those that were declared.
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

// handlerOffers returns the capabilities of the installed handlers.
func (o *Options) handlerOffers() offers {
	out := offers{roots: o.givesRoots(), tasks: true}
	if o.Sampling != nil {
		c := inquiry.SamplingCapabilityOf(o.Sampling)
		out.sampling = &c
	}
	if o.Elicitation != nil {
		c := inquiry.ElicitationCapabilityOf(o.Elicitation)
		out.elicitation = &c
	}
	return out
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
		return fmt.Errorf("Options.Protocol.Capabilities declares %s, and %s is nil: install it, or set Options.Protocol.AllowUndeclared", capability, handler)
	case installed && !declared:
		return fmt.Errorf("%s is set, and Options.Protocol.Capabilities does not declare %s: declare it, or set Options.Protocol.AllowUndeclared", handler, capability)
	}
	return nil
}

// appendTo appends the declared capabilities as a JSON object. roots is the derived declaration
// of roots; extensions are the names of the client's own extensions, which have no settings.
func (f *offers) appendTo(b []byte, roots string, extensions ...string) []byte {
	if f.exact != nil {
		return append(b, f.exact...)
	}
	if f.base != nil {
		derived := *f
		derived.base = nil
		return append(b, mergeMissing(f.base, derived.appendTo(nil, roots, extensions...))...)
	}
	b = append(b, '{')
	if s := f.sampling; s != nil {
		b = appendFlags(b, "sampling", flag{"tools", s.Tools}, flag{"context", s.Context})
	}
	if e := f.elicitation; e != nil {
		b = appendFlags(b, "elicitation", flag{"form", e.Form}, flag{"url", e.URL})
	}
	if f.roots {
		b = jsonrpc.AppendMember(b, "roots", []byte(roots))
	}
	if len(extensions) > 0 {
		b = append(b, `"extensions":{`...)
		for _, name := range extensions {
			b = jsonrpc.AppendMember(b, name, []byte("{}"))
		}
		b = append(jsonrpc.CloseObject(b), ',')
	}
	return jsonrpc.CloseObject(b)
}

// mergeMissing returns object with the members of more that it lacks, at every depth. A member that
// is null counts as lacking.
func mergeMissing(object, more []byte) []byte {
	add := map[string][]byte{}
	var names []string
	_ = jsonrpc.Members(more, func(key, value []byte) { // written by the client
		names = append(names, string(key))
		add[string(key)] = value
	})
	out := []byte{'{'}
	_ = jsonrpc.Members(object, func(key, value []byte) { // validated before
		name := string(key)
		switch extra, both := add[name]; {
		case both && value[0] == '{' && extra[0] == '{':
			value = mergeMissing(value, extra)
		case both && string(value) == "null":
			value = extra
		}
		delete(add, name)
		out = jsonrpc.AppendMember(out, name, value)
	})
	for _, name := range names {
		if value, missing := add[name]; missing {
			out = jsonrpc.AppendMember(out, name, value)
		}
	}
	return jsonrpc.CloseObject(out)
}

// flag is a part of a capability: an empty object if it is set.
type flag struct {
	name string
	set  bool
}

// appendFlags appends a capability with the flags that are set, followed by a comma.
func appendFlags(b []byte, capability string, flags ...flag) []byte {
	b = append(jsonrpc.AppendString(b, capability), ":{"...)
	for _, f := range flags {
		if f.set {
			b = jsonrpc.AppendMember(b, f.name, []byte("{}"))
		}
	}
	return append(jsonrpc.CloseObject(b), ',')
}
