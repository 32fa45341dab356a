package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ElicitationCapability declares URLs only with a terminal.
func (p *person) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: p.con.interactive}
}

// Elicit asks the person a server's question.
func (p *person) Elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	source, _ := adapter.SourceFrom(ctx)
	if params.Mode == mcp.ElicitURL {
		return p.visit(ctx, source.Server, params)
	}
	fields, err := params.Fields()
	if err != nil {
		return nil, &mcp.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	form := &form{person: p, server: source.Server, message: params.Message, fields: fields, content: map[string]any{}}
	form.fillIn(p.answers[source.Server])
	if p.con.interactive && duringTurn(ctx) {
		return form.ask(ctx)
	}
	return form.unattended(), nil
}

// visit asks for consent to open a URL. The person opens it: this program must
// not see the page.
func (p *person) visit(ctx context.Context, server string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	link, err := safetext.ReadLink(params.URL)
	if err != nil || !p.con.interactive || !duringTurn(ctx) {
		p.con.note(p.con.style.warn, "declined %s: it asked to open a web page", server)
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	var choice byte
	err = p.con.dialog(ctx, func() (err error) {
		p.con.noteLocked(p.con.style.warn, "The server %s asks you to open a page of %s in your browser. It says:", server, link.Host)
		p.con.noteLocked(p.con.style.tool, "%s", safetext.Block(params.Message, maxShown))
		p.con.noteLocked(p.con.style.warn, "The page:")
		p.con.verbatimLocked(p.con.style.tool, "  "+link.URL)
		for _, warning := range link.Warnings {
			p.con.noteLocked(p.con.style.fail, "  Warning: %s.", warning)
		}
		choice, err = p.con.chooseLocked(ctx, "Will you open it? [y]es, [n]o, [c]ancel:", "ync")
		return err
	})
	return action(choice, err, nil)
}

// form is a server's form, and the answers so far.
type form struct {
	*person
	server  string
	message string
	fields  []*mcp.Field
	content map[string]any

	answered int             // number of fields that -answer filled in
	errs     []error         // mistakes in -answer
	faulty   map[string]bool // the fields of errs
	others   []string        // keys of -answer that may be for another form
}

// fillIn takes the prepared answers. A key that is almost a field's name is a
// mistake: to ignore it would send a wrong form.
func (f *form) fillIn(given answers) {
	f.faulty = map[string]bool{}
	near, others := given.mistakes(f.fields)
	for _, key := range slices.Sorted(maps.Keys(near)) {
		f.errs = append(f.errs, fmt.Errorf("-answer: no field %q; did you mean %q?", key, near[key]))
		f.faulty[near[key]] = true
	}
	f.others = others
	for _, field := range f.fields {
		text, ok := given[field.Name]
		if !ok {
			continue
		}
		value, err := field.Parse(text)
		if err != nil {
			f.errs = append(f.errs, fmt.Errorf("-answer: %w", err))
			f.faulty[field.Name] = true
			continue
		}
		f.answered++
		if value != nil {
			f.content[field.Name] = value
		}
	}
}

// unattended answers without a person. It invents nothing: a form is accepted
// if the prepared answers and the server's defaults complete it.
func (f *form) unattended() *mcp.ElicitResult {
	errs := f.errs
	for _, field := range f.fields {
		if f.content[field.Name] != nil || f.faulty[field.Name] {
			continue
		}
		value, err := field.Parse("")
		switch {
		case err != nil:
			errs = append(errs, err)
		case value != nil:
			f.content[field.Name] = value
		}
	}
	if f.answered == 0 || len(errs) > 0 {
		f.refuse(errs)
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}
	}
	f.con.note(f.con.style.faint, "%s asks: %s\n%s", f.server, safetext.Line(f.message, 200), safetext.Indent(f.summary()))
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: f.content}
}

// refuse tells why a form is declined. That is a failure of the run: a server
// waited for an answer and got none.
func (f *form) refuse(errs []error) {
	f.con.note(f.con.style.warn, "declined %s: %s", f.server, safetext.Line(f.message, 200))
	var names []string
	for _, field := range f.fields {
		names = append(names, safetext.Line(field.Name, 60))
	}
	fields := strings.Join(names, ", ")
	f.lacks.declined.Add(1)
	if len(f.answers[f.server]) == 0 {
		f.con.note(f.con.style.warn, "  there is no terminal to ask on; give -answer %s/key=value for the fields %s", f.server, fields)
	}
	for _, key := range f.others {
		errs = append(errs, fmt.Errorf("-answer: no field %q; the fields are %s", key, fields))
	}
	for _, err := range errs {
		f.con.note(f.con.style.warn, "  %v", err)
	}
}

var (
	errDecline = errors.New("declined")
	errCancel  = errors.New("cancelled")
)

// ask fills in the form on the terminal, as often as the person wants.
func (f *form) ask(ctx context.Context) (*mcp.ElicitResult, error) {
	var choice byte
	err := f.con.dialog(ctx, func() error {
		f.con.noteLocked(f.con.style.warn, "The server %s asks:", f.server)
		f.con.noteLocked(f.con.style.tool, "%s", safetext.Block(f.message, maxShown))
		f.con.noteLocked(f.con.style.faint, "  Empty takes what is in [brackets]. !decline says no, !cancel leaves the form.")
		for _, err := range f.errs {
			f.con.noteLocked(f.con.style.warn, "  %v", err)
		}
		for {
			for _, field := range f.fields {
				if err := f.askField(ctx, field); err != nil {
					return err
				}
			}
			f.con.noteLocked(f.con.style.tool, "%s", safetext.Indent(f.summary()))
			var err error
			choice, err = f.con.chooseLocked(ctx, fmt.Sprintf("Send this to %s? [y]es, [e]dit, [n]o, [c]ancel:", f.server), "yenc")
			if err != nil || choice != 'e' {
				return err
			}
		}
	})
	return action(choice, err, f.content)
}

// action turns the end of a dialog into an answer. The end of the input is not
// a refusal: it cancels.
func action(choice byte, err error, content map[string]any) (*mcp.ElicitResult, error) {
	switch {
	case err == errDecline || err == nil && choice == 'n':
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	case err == errCancel || err == io.EOF || err == nil && choice == 'c':
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	case err != nil:
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// askField asks until the answer fits the field. An empty line keeps the value.
func (f *form) askField(ctx context.Context, field *mcp.Field) error {
	for {
		text, err := f.con.askLocked(ctx, f.con.style.person, "  "+f.question(field))
		switch {
		case err != nil:
			return err
		case text == "!decline":
			return errDecline
		case text == "!cancel":
			return errCancel
		case text == "" && f.content[field.Name] != nil:
			return nil
		}
		value, err := field.Parse(text)
		if err != nil {
			f.con.noteLocked(f.con.style.warn, "  %v", err)
			continue
		}
		if value != nil {
			f.content[field.Name] = value
		}
		return nil
	}
}

// maxOptions bounds the shown options of a field.
const maxOptions = 20

// question describes a field: its title, description, options, and the value of
// an empty line.
func (f *form) question(field *mcp.Field) string {
	var b strings.Builder
	b.WriteString(safetext.Line(field.Title, 80))
	if field.Description != "" {
		fmt.Fprintf(&b, " (%s)", safetext.Line(field.Description, 200))
	}
	if field.Kind == mcp.FieldBoolean {
		b.WriteString(" (yes or no)")
	}
	for i, o := range field.Options[:min(len(field.Options), maxOptions)] {
		fmt.Fprintf(&b, "\n    %d) %s", i+1, safetext.Line(o.Title, 80))
	}
	if more := len(field.Options) - maxOptions; more > 0 {
		fmt.Fprintf(&b, "\n    and %d more", more)
	}
	if len(field.Options) > 0 {
		b.WriteString("\n   ")
	}
	value := f.content[field.Name]
	if value == nil {
		value = field.Default
	}
	switch {
	case value != nil:
		fmt.Fprintf(&b, " [%s]", display(field, value))
	case !field.Required:
		b.WriteString(" [nothing]")
	}
	return b.String() + ":"
}

// summary lists the answers, one on each line.
func (f *form) summary() string {
	var lines []string
	for _, field := range f.fields {
		if value, ok := f.content[field.Name]; ok {
			lines = append(lines, safetext.Line(field.Title, 80)+": "+display(field, value))
		}
	}
	return strings.Join(lines, "\n")
}

// display shows a value in the person's words.
func display(field *mcp.Field, value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		var titles []string
		for _, s := range v {
			titles = append(titles, title(field, s))
		}
		return strings.Join(titles, ", ")
	case string:
		return title(field, v)
	}
	return fmt.Sprint(value)
}

func title(field *mcp.Field, value string) string {
	i := slices.IndexFunc(field.Options, func(o mcp.FieldOption) bool { return o.Value == value })
	if i < 0 {
		return safetext.Line(value, 500)
	}
	return safetext.Line(field.Options[i].Title, 80)
}
