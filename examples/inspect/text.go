package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// printer writes lines until a write fails.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.err = fmt.Fprintln(p.w, text)
	}
}

// write writes the report for people.
func (r *report) write(w io.Writer, detailed bool) error {
	p := &printer{w: w}
	if len(r.Servers) == 0 {
		p.line("the file names no servers")
	}
	for i, s := range r.Servers {
		if i > 0 {
			p.line("")
		}
		s.write(p, detailed)
	}
	return p.err
}

// encode writes the report as JSON, with escapes for control and invisible
// characters.
func (r *report) encode(w io.Writer) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	_, err := io.WriteString(w, safetext.EscapeJSON(b.String()))
	return err
}

func (s *serverReport) write(p *printer, detailed bool) {
	p.line("%s: %s", line(s.Name), line(s.Transport))
	if s.Disabled {
		p.line("  disabled")
	}
	if s.Error != "" {
		p.line("  not reached: %s", reason(s.Error))
	}
	if s.Disabled || s.Error != "" {
		return
	}
	p.line("  reached: %s, protocol revision %s%s", line(s.Info.Name+" "+s.Info.Version), s.Revision, s.forced())
	if s.Instructions != "" {
		p.line("  instructions: %s", line(s.Instructions))
	}
	for _, t := range s.Tools {
		t.write(p, detailed)
	}
	for _, t := range s.Skipped {
		p.line("  tool %s cannot be used: %s", line(t.Name), line(t.Error))
	}
	if len(s.Prompts) > 0 {
		p.line("  prompts: %s", line(strings.Join(s.Prompts, ", ")))
	}
	if len(s.Resources) > 0 {
		p.line("  resources: %s", line(strings.Join(s.Resources, ", ")))
	}
	if len(s.Templates) > 0 {
		p.line("  templates of resources: %s", line(strings.Join(s.Templates, ", ")))
	}
	for _, trouble := range s.Trouble {
		p.line("  trouble: %s", reason(trouble))
	}
}

func (s *serverReport) forced() string {
	if s.Forced == "" {
		return ""
	}
	return " (forced)"
}

func (t *toolReport) write(p *printer, detailed bool) {
	hints := ""
	if t.Annotations != nil {
		hints = hintsOf(t.Annotations)
	}
	p.line("  tool %s%s: %s", t.Name, hints, line(t.Description))
	if t.Name != t.ServerName {
		p.line("    the server calls it %s", line(t.ServerName))
	}
	for _, profile := range t.Profiles {
		profile.write(p, detailed)
	}
}

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

func (r *profileReport) write(p *printer, detailed bool) {
	strict := ""
	if r.Strict {
		strict = ", strict"
	}
	p.line("    %s: %d bytes%s, %s", r.Profile, r.Bytes, strict, r.summary(detailed))
	for _, c := range r.Changes {
		if detailed || c.Effect != "same" {
			at := c.Path
			if at == "" {
				at = "the root"
			}
			p.line("      %s: %s %s: %s", c.Effect, line(at), line(c.Keyword), line(c.Note))
		}
	}
	if detailed {
		raw, err := json.MarshalIndent(r.Parameters, "      ", "  ")
		if err != nil {
			raw = []byte(err.Error())
		}
		p.line("      %s", safetext.EscapeJSON(string(raw)))
	}
}

// summary counts the changes. Changes without an effect are shown only in
// detail.
func (r *profileReport) summary(detailed bool) string {
	same := 0
	for _, c := range r.Changes {
		if c.Effect == "same" {
			same++
		}
	}
	switch n := len(r.Changes); {
	case n == 0:
		return "says what the server wrote"
	case n == same && !detailed:
		return plural(n, "change") + ", in other words only"
	case same > 0 && !detailed:
		return fmt.Sprintf("%s, %d of them in other words only", plural(n, "change"), same)
	default:
		return plural(n, "change")
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bounds of a server's shown texts, in characters.
const (
	maxShown  = 300  // on one line
	maxReason = 8000 // of the reason against a server, for example a program's last output
)

// line puts a server's text on one line.
func line(text string) string { return safetext.Line(text, maxShown) }

// reason is an error with its line breaks, the later lines indented.
func reason(text string) string {
	return strings.TrimLeft(safetext.Indent(safetext.Block(text, maxReason)), " ")
}
