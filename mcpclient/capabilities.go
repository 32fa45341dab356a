package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// declared is what Options.Capabilities says, as far as we have handlers for it.
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

// offered is what the installed handlers can do, or what Options.Capabilities
// says of them instead.
func (o *Options) offered() (offers, error) {
	out := o.offers()
	if o.Capabilities == nil {
		return out, out.check()
	}
	exact, err := encodeParams(o.Capabilities)
	if err == nil && exact == nil {
		err = errors.New("want a JSON object")
	}
	var d declared
	if err == nil {
		err = json.Unmarshal(exact, &d)
	}
	if err != nil {
		return out, fmt.Errorf("Options.Capabilities: %w", err)
	}
	if !o.AllowUndeclared {
		err = errors.Join(
			agree("sampling", d.Sampling != nil, "Options.Sampling", o.Sampling != nil),
			agree("elicitation", d.Elicitation != nil, "Options.Elicitation", o.Elicitation != nil),
			agree("roots", d.Roots != nil, "Options.Roots", o.givesRoots()),
		)
	}
	for name := range d.Extensions {
		err = errors.Join(err, checkExtension(name))
	}
	out.exact = bytes.Clone(exact)
	out.quietRoots = d.Roots == nil || !d.Roots.ListChanged
	_, out.tasks = d.Extensions[tasksExtension]
	if out.sampling != nil && d.Sampling != nil {
		out.sampling = &SamplingCapability{Tools: d.Sampling.Tools != nil, Context: d.Sampling.Context != nil}
	}
	if out.elicitation != nil && d.Elicitation != nil {
		form := d.Elicitation.Form != nil || d.Elicitation.URL == nil // {} is form too
		out.elicitation = &ElicitationCapability{Form: form, URL: d.Elicitation.URL != nil}
	}
	return out, err
}

// checkExtension reports an extension whose name is none. Its prefix, which keys of
// _meta may do without, is mandatory (2026-07-28 versioning, "Extension
// Negotiation").
func checkExtension(name string) error {
	prefixed, err := checkKey(name)
	if err == nil && !prefixed {
		err = errors.New("it needs a prefix, such as com.example/")
	}
	if err != nil {
		return fmt.Errorf("Options.Capabilities: extension %q: %w", cut(name), err)
	}
	return nil
}

// agree reports a capability that is declared and has no handler, or the other
// way round.
func agree(capability string, declared bool, handler string, installed bool) error {
	switch {
	case declared && !installed:
		return fmt.Errorf("Options.Capabilities declares %s, and %s is nil: install it, or set Options.AllowUndeclared", capability, handler)
	case installed && !declared:
		return fmt.Errorf("%s is set, and Options.Capabilities does not declare %s: declare it, or set Options.AllowUndeclared", handler, capability)
	}
	return nil
}

// appendTo appends what is declared, a JSON object. roots is the derived
// declaration of roots; extensions are the names of those that we have, which
// have no settings.
func (f *offers) appendTo(b []byte, roots string, extensions ...string) []byte {
	if f.exact != nil {
		return append(b, f.exact...)
	}
	b = append(b, '{')
	if s := f.sampling; s != nil {
		b = appendFlags(b, "sampling", flag{"tools", s.Tools}, flag{"context", s.Context})
	}
	if e := f.elicitation; e != nil {
		b = appendFlags(b, "elicitation", flag{"form", e.Form}, flag{"url", e.URL})
	}
	if f.roots {
		b = appendMember(b, "roots", []byte(roots))
	}
	if len(extensions) > 0 {
		b = append(b, `"extensions":{`...)
		for _, name := range extensions {
			b = appendMember(b, name, []byte("{}"))
		}
		b = append(closeObject(b), ',')
	}
	return closeObject(b)
}

// flag is a part of a capability: an empty object where it is there.
type flag struct {
	name string
	set  bool
}

func appendFlags(b []byte, capability string, flags ...flag) []byte {
	b = append(jsonrpc.AppendString(b, capability), ":{"...)
	for _, f := range flags {
		if f.set {
			b = appendMember(b, f.name, []byte("{}"))
		}
	}
	return append(closeObject(b), ',')
}
