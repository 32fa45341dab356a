package inspect

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// printer writes lines until a write fails.
type printer struct {
	w   io.Writer
	err error
}

// line writes a line without the spaces at its end.
func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.err = fmt.Fprintln(p.w, text)
	}
}

// write writes the report for people.
func (r *report) write(w io.Writer, detailed bool) error {
	p := &printer{w: w}
	p.line("%s", r.summary())
	for _, s := range r.Servers {
		p.line("")
		s.write(p, detailed)
	}
	return p.err
}

// summary returns the first line of the report: how many servers can be used.
func (r *report) summary() string {
	switch {
	case len(r.Servers) == 0:
		return "the file names no servers"
	case r.Total == 1 && r.Usable == 1:
		return "the server can be used"
	case r.Total == 1:
		return "the server cannot be used"
	}
	return fmt.Sprintf("%d of %s can be used", r.Usable, cli.Plural(r.Total, "server"))
}

// write writes the report on a server.
func (s *serverReport) write(p *printer, detailed bool) {
	p.line("%s: %s", line(s.Name), line(s.Transport))
	if s.Disabled {
		p.line("  disabled")
	}
	if s.Error != "" {
		p.line("  cannot be used: %s", block(s.Error))
	}
	if s.Disabled || s.Error != "" {
		return
	}
	forced := ""
	if s.Forced != "" {
		forced = " (forced)"
	}
	p.line("  can be used: %s, protocol revision %s%s", line(s.Info.Name+" "+s.Info.Version), s.Revision, forced)
	if detailed {
		s.writeOffers(p)
	} else {
		s.writeNames(p)
	}
	s.writeViews(p)
	for _, t := range s.Skipped {
		p.line("  tool %s cannot be used: %s", line(t.Name), line(t.Error))
	}
	for _, name := range s.Misnamed {
		p.line("  the specification does not allow the name of the tool %s: want 1 to %d of the characters A-Z, a-z, 0-9, _, - and .", line(strconv.Quote(name)), maxName)
	}
	for _, name := range s.Unmatched {
		p.line("  the file allows or leaves out a tool that the server does not have: %s", line(name))
	}
	for _, what := range s.Cut {
		p.line("  only the first %d %s are listed", maxListed, what)
	}
	for _, trouble := range s.Trouble {
		p.line("  trouble: %s", block(trouble))
	}
}

// writeNames writes a line for each kind of offer.
func (s *serverReport) writeNames(p *printer) {
	var tools, prompts []string
	for _, t := range s.Tools {
		tools = append(tools, t.Name)
	}
	for _, prompt := range s.Prompts {
		prompts = append(prompts, prompt.Name)
	}
	p.list("tool", tools)
	s.writeTokens(p)
	p.list("prompt", prompts)
	p.list("resource", s.Resources)
	p.list("template", s.Templates)
}

// writeTokens writes what the tools cost.
func (s *serverReport) writeTokens(p *printer) {
	if s.Tokens > 0 {
		p.line("  its tools cost about %d tokens in each request of a model", s.Tokens)
	}
}

// list writes how many names there are, and those that fit; nothing if there are none.
func (p *printer) list(what string, names []string) {
	if len(names) > 0 {
		p.line("  %s: %s", cli.Plural(len(names), what), fitNames(names))
	}
}

// fitNames returns the names that fit on a line, and how many others there are.
func fitNames(names []string) string {
	var b strings.Builder
	for i, name := range names {
		name = line(name)
		if i > 0 && b.Len()+len(name) > maxShown {
			fmt.Fprintf(&b, ", and %d more (-server shows all)", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// writeOffers writes everything about the offers.
func (s *serverReport) writeOffers(p *printer) {
	if s.Instructions != "" {
		p.line("  instructions: %s", line(s.Instructions))
	}
	for _, t := range s.Tools {
		t.write(p)
	}
	s.writeTokens(p)
	for _, prompt := range s.Prompts {
		p.line("  prompt %s", described(line(prompt.Name), prompt.Description))
		for _, a := range prompt.Arguments {
			name := line(a.Name)
			if a.Required {
				name += " (required)"
			}
			p.line("    %s", described(name, a.Description))
		}
	}
	for _, uri := range s.Resources {
		p.line("  resource %s", line(uri))
	}
	for _, uri := range s.Templates {
		p.line("  template of resources %s", line(uri))
	}
}

// write writes everything about a tool.
func (t *toolReport) write(p *printer) {
	hints := ""
	if t.Annotations != nil {
		hints = hintsOf(t.Annotations)
	}
	p.line("  tool %s", described(t.Name+hints, t.Description))
	if t.Name != t.ServerName {
		p.line("    the server calls it %s", line(t.ServerName))
	}
	for _, parameter := range offering.Parameters(t.InputSchema) {
		p.line("    %s", parameter)
	}
	for _, profile := range t.Profiles {
		profile.write(p)
	}
}

// described returns a name with its description, if there is one.
func described(name, description string) string {
	if description == "" {
		return name
	}
	return name + ": " + line(description)
}

// hintsOf returns the hints of a server about its tool, "" for none.
func hintsOf(a *mcp.ToolAnnotations) string {
	var hints []string
	for _, h := range []struct {
		value *bool
		name  string
	}{{a.ReadOnlyHint, "read-only"}, {a.DestructiveHint, "destructive"}, {a.IdempotentHint, "idempotent"}, {a.OpenWorldHint, "open world"}} {
		if h.value != nil {
			hints = append(hints, map[bool]string{true: "", false: "not "}[*h.value]+h.name)
		}
	}
	if len(hints) == 0 {
		return ""
	}
	return " (" + strings.Join(hints, ", ") + ")"
}

// write writes the definition for a provider, with its changes.
func (r *profileReport) write(p *printer) {
	strict, changes := "", "says what the server wrote"
	if r.Strict {
		strict = ", strict"
	}
	if n := len(r.Changes); n > 0 {
		changes = cli.Plural(n, "change")
	}
	p.line("    %s: %d bytes%s, %s", r.Profile, r.Bytes, strict, changes)
	for _, c := range r.Changes {
		path := c.Path
		if path == "" {
			path = "the root"
		}
		p.line("      %s: %s %s: %s", c.Effect, line(path), line(c.Keyword), line(c.Note))
	}
	var definition strings.Builder
	if err := cli.WriteJSON(&definition, r.Definition, "  "); err != nil {
		definition.WriteString(err.Error())
	}
	p.line("      %s", strings.ReplaceAll(strings.TrimSuffix(definition.String(), "\n"), "\n", "\n      "))
}

// Bounds of a server's texts.
const (
	maxShown  = 300  // characters on one line
	maxReason = 8000 // bytes of the reason why a server cannot be used, for example a program's last output
)

// line returns a server's text on one line.
func line(text string) string { return hosttext.Line(text, maxShown) }

// block returns the text of an error with its line breaks, and the later lines indented.
func block(text string) string {
	return strings.TrimLeft(hosttext.Indent(hosttext.Block(text, maxReason)), " ")
}
