package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// makeRequest makes the request of the command line to the server, shows the answer, and returns the exit status. If a
// question was declined meanwhile, the status is statusAsked.
func (p *program) makeRequest(ctx context.Context, r *report, tools *adapter.Toolset, asked *questions, o *options) int {
	server, err := r.onlyServer(tools)
	if err != nil {
		return p.fail(statusMissing, err)
	}
	about := r.byName[server.Name]
	opts := []mcpclient.CallOption{
		mcpclient.WithIdleTimeout(cmp.Or(about.entry.Timeout, o.timeouts.Idle)),
		mcpclient.WithTimeout(o.timeouts.Call),
		mcpclient.WithProgress(asked.progress),
	}
	if err := checkPromptArguments(ctx, server.Client, o, opts); err != nil {
		return p.fail(statusUsage, err)
	}
	before := asked.declined()
	got, err := request(ctx, tools, server, o, opts)
	if err == nil {
		if err := got.show(p.out, o.json); err != nil {
			return p.fail(statusMissing, fmt.Errorf("write the answer: %w", err))
		}
	}
	status, failure := about.outcome(got, err)
	if asked.declined() > before {
		status = statusAsked
	}
	if failure != nil {
		return p.fail(status, failure)
	}
	return status
}

// outcome returns the exit status of a request, and why it failed.
func (s *serverReport) outcome(got *answer, err error) (status int, failure error) {
	_, refused := errors.AsType[*mcp.RPCError](err)
	switch {
	case refused:
		return statusFailed, errors.New("the server refused: " + strings.Replace(err.Error(), inquiry.CannotAskAdvice, askAdvice, 1))
	case err != nil:
		return statusMissing, s.explain(err)
	case got.failure != nil:
		return statusFailed, got.failure
	}
	return statusFine, nil
}

// answer is what a server answered.
type answer struct {
	result  any    // for -json
	text    string // for people
	failure error  // why the result is a failure, or nil
}

// request makes the request that the command line asks for.
func request(
	ctx context.Context, tools *adapter.Toolset, s adapter.ServerStatus, o *options, opts []mcpclient.CallOption,
) (*answer, error) {
	switch {
	case o.call != "":
		return callTool(ctx, tools, s, o, opts)
	case o.read != "":
		r, err := s.Client.ReadResource(ctx, o.read, opts...)
		if err != nil {
			return nil, err
		}
		return &answer{result: r, text: resource(r)}, nil
	}
	r, err := s.Client.GetPrompt(ctx, o.prompt, o.promptArguments, opts...)
	if err != nil {
		return nil, err
	}
	return &answer{result: r, text: messages(r)}, nil
}

// checkPromptArguments returns an error if the prompt of -prompt does not take one of the arguments, or needs another
// one. It lists the server's prompts for that, and does not check one that is not listed before an error.
func checkPromptArguments(ctx context.Context, c *mcpclient.Client, o *options, opts []mcpclient.CallOption) error {
	if o.prompt == "" {
		return nil
	}
	for prompt, err := range c.Prompts(ctx, opts...) {
		if err != nil {
			break
		}
		if prompt.Name == o.prompt {
			return cmp.Or(offering.CheckNames(prompt, o.promptArguments), offering.CheckRequired(prompt, o.promptArguments))
		}
	}
	return nil
}

// show writes the answer as JSON or text.
func (a *answer) show(w io.Writer, asJSON bool) error {
	if asJSON {
		return cli.WriteJSON(w, a.result, "  ")
	}
	_, err := fmt.Fprintln(w, hosttext.Prose(strings.TrimRight(a.text, "\n")))
	return err
}

// callTool calls a tool by the server's name for it, as a task if the tool has to be one.
func callTool(
	ctx context.Context, tools *adapter.Toolset, s adapter.ServerStatus, o *options, opts []mcpclient.CallOption,
) (*answer, error) {
	tool, err := toolOf(tools, s, o.call)
	if err != nil {
		return nil, err
	}
	if tool.IsTask() {
		opts = append(opts, mcpclient.WithTask(tool.Definition()))
	}
	r, err := s.Client.CallTool(ctx, o.call, o.arguments, opts...)
	if err != nil {
		return nil, err
	}
	got := &answer{result: r, text: offering.Content(r.Content)}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		got.text = hosttext.EscapeJSON(string(r.StructuredContent))
	}
	if r.IsError {
		got.failure = resultFailure(r)
	}
	return got, nil
}

// toolOf returns the tool to which a server gives the name. The error says why it cannot be used,
// or which tools there are.
func toolOf(tools *adapter.Toolset, s adapter.ServerStatus, name string) (*adapter.Tool, error) {
	var names []string
	for _, t := range s.Tools {
		if t.Definition().Name == name {
			return t, nil
		}
		names = append(names, t.Definition().Name)
	}
	if err := s.Skipped[name]; err != nil {
		return nil, fmt.Errorf("tool %q cannot be used: %w", name, err)
	}
	if slices.ContainsFunc(tools.ViewAccess(s.Name, "").Tools(), func(t *mcp.Tool) bool { return t.Name == name }) {
		return nil, fmt.Errorf("tool %q is for the server's views alone", name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no tool %q: the server has no tools to use", name)
	}
	return nil, fmt.Errorf("there is no tool %q to use%s; there are %s", name, spelling.Hint(name, names), quoted(names))
}

// askAdvice is [inquiry.CannotAskAdvice] for people at a command line.
const askAdvice = "it " + inquiry.CannotAsk + ": connect with " + mcp.Revision20251125 + ", by -revision or \"revision\" in the file"

// resultFailure returns the error for a result that is a failure.
func resultFailure(result *mcp.CallToolResult) error {
	switch result.Advice {
	case "":
		return errors.New("the server reports an error")
	case inquiry.CannotAskAdvice:
		return errors.New("the server reports an error: " + askAdvice)
	}
	return fmt.Errorf("the server reports an error: %s", result.Advice)
}

// quoted lists names of servers and tools.
func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return line(strings.Join(list, ", "))
}

// resource shows the text of a resource, and the size of everything else.
func resource(r *mcp.ReadResourceResult) string {
	var b strings.Builder
	for _, c := range r.Contents {
		if len(r.Contents) > 1 {
			fmt.Fprintf(&b, "%s:\n", c.URI)
		}
		if c.Blob != nil {
			fmt.Fprintf(&b, "[%s, %d bytes; -json has them]\n", cmp.Or(c.MIMEType, "unknown type"), len(c.Blob))
		} else {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}

// messages shows the messages of a prompt.
func messages(r *mcp.GetPromptResult) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Role + ":\n" + hosttext.Indent(offering.Content([]mcp.Content{m.Content})) + "\n")
	}
	return b.String()
}
