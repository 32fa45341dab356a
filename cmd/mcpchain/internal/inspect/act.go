package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// act makes one request to a server, and shows the answer.
func (p *program) act(ctx context.Context, r *report, tools *adapter.Toolset, asked *questions, o *options) int {
	s, err := r.theServer(tools)
	if err != nil {
		return p.fail(statusMissing, err)
	}
	about := r.byName[s.Name]
	var idle []mcpclient.CallOption
	if silence := about.entry.Timeout; silence > 0 {
		idle = append(idle, mcpclient.WithIdleTimeout(silence))
	}
	before := asked.declined()
	status := statusFine
	var answer any
	var text string
	var failure error
	switch {
	case o.call != "":
		var result *mcp.CallToolResult
		if result, err = callTool(ctx, s, o, idle); err == nil {
			answer, text = result, contents(result.Content...)
			if len(result.Content) == 0 && result.StructuredContent != nil {
				text = hosttext.EscapeJSON(string(result.StructuredContent))
			}
			if result.IsError {
				status, failure = statusFailed, failed(result)
			}
		}
	case o.read != "":
		var result *mcp.ReadResourceResult
		if result, err = s.Client.ReadResource(ctx, o.read, idle...); err == nil {
			answer, text = result, resource(result)
		}
	default:
		var result *mcp.GetPromptResult
		if result, err = s.Client.GetPrompt(ctx, o.prompt, o.blanks, idle...); err == nil {
			answer, text = result, messages(result)
		}
	}
	if err == nil {
		err = show(p.out, answer, text, o.json)
	}
	_, refused := errors.AsType[*mcp.RPCError](err)
	declined := asked.declined() > before
	switch {
	case err == nil && status == statusFailed:
		err = failure
	case refused:
		status, err = statusFailed, fmt.Errorf("the server refused: %w", err)
	case err != nil:
		status, err = statusMissing, about.explain(err)
	}
	if declined {
		status = statusAsked
	}
	if err != nil {
		return p.fail(status, err)
	}
	return status
}

// failed returns the error of a tool that ran and failed, with the flag that helps if the tool
// needs an older revision of the protocol to ask.
func failed(result *mcp.CallToolResult) error {
	switch result.Advice {
	case "":
		return errors.New("the tool ran and failed")
	case inquiry.CannotAskAdvice:
		return fmt.Errorf("the tool ran and failed: it asks by a request of its server, which this revision of the protocol does not have: "+
			`connect with %s, by -revision or "revision" in the file`, mcp.Revision20251125)
	}
	return fmt.Errorf("the tool ran and failed: %s", result.Advice)
}

// enabled returns the names of the enabled servers.
func (r *report) enabled() (names []string) {
	for _, about := range r.Servers {
		if !about.Disabled {
			names = append(names, about.Name)
		}
	}
	return names
}

// oneServer returns an error unless it is clear which server is meant.
func (r *report) oneServer() error {
	if names := r.enabled(); len(names) > 1 {
		return fmt.Errorf("-server: name one of %s", quoted(names))
	}
	return nil
}

// theServer returns the only enabled server of the file.
func (r *report) theServer(tools *adapter.Toolset) (s adapter.ServerStatus, err error) {
	names := r.enabled()
	if len(names) == 0 {
		return s, errors.New("no server of the file is enabled")
	}
	if about := r.byName[names[0]]; about.Error != "" {
		return s, errors.New(about.Error)
	}
	s = tools.Servers()[0]
	if s.Err != nil {
		return s, r.byName[s.Name].why(s.Err)
	}
	return s, nil
}

func callTool(ctx context.Context, s adapter.ServerStatus, o *options, idle []mcpclient.CallOption) (*mcp.CallToolResult, error) {
	var names []string
	for _, t := range s.Tools {
		names = append(names, t.Definition().Name)
	}
	if slices.Contains(names, o.call) {
		return s.Client.CallTool(ctx, o.call, o.arguments, idle...)
	}
	for _, t := range s.Skipped {
		if t.Name == o.call {
			return nil, fmt.Errorf("tool %q cannot be used: %w", o.call, t.Err)
		}
	}
	hint := ""
	if near := spelling.Nearest(o.call, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return nil, fmt.Errorf("there is no tool %q to use; %sthere are %s", o.call, hint, quoted(names))
}

// quoted lists names of servers and tools.
func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return line(strings.Join(list, ", "))
}

// show writes the answer as JSON or text.
func show(w io.Writer, answer any, text string, asJSON bool) error {
	if asJSON {
		return encode(w, answer)
	}
	_, err := fmt.Fprintln(w, hosttext.Prose(strings.TrimRight(text, "\n")))
	return err
}

// contents shows text, and the kind and size of everything else.
func contents(blocks ...mcp.Content) string {
	var b strings.Builder
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			b.WriteString(c.Text + "\n")
		case *mcp.ImageContent:
			fmt.Fprintf(&b, "[image: %s, %d bytes; -json has them]\n", c.MIMEType, len(c.Data))
		case *mcp.AudioContent:
			fmt.Fprintf(&b, "[audio: %s, %d bytes; -json has them]\n", c.MIMEType, len(c.Data))
		case *mcp.EmbeddedResource:
			b.WriteString(resource(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{c.Resource}}))
		default:
			raw, err := json.Marshal(c)
			if err != nil {
				raw = []byte(err.Error())
			}
			b.WriteString(string(raw) + "\n")
		}
	}
	return b.String()
}

func resource(r *mcp.ReadResourceResult) string {
	var b strings.Builder
	for _, c := range r.Contents {
		if len(r.Contents) > 1 {
			fmt.Fprintf(&b, "%s:\n", c.URI)
		}
		if c.Blob != nil {
			fmt.Fprintf(&b, "[%s, %d bytes; -json has them]\n", c.MIMEType, len(c.Blob))
		} else {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}

func messages(r *mcp.GetPromptResult) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Role + ":\n" + hosttext.Indent(contents(m.Content)))
	}
	return b.String()
}

// connect connects to the servers and lists their tools.
func connect(ctx context.Context, servers []adapter.Server, asked *questions, o *options) (*adapter.Toolset, error) {
	client, err := apps.Declare(asked.options()) // so that servers list their views
	if err != nil {
		return nil, err
	}
	return adapter.Open(ctx, servers, &adapter.Options{
		Policy: adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: o.timeout}, Client: client,
	})
}
