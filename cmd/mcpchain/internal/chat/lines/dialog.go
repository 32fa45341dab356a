package lines

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// runDialog calls f, which has the screen and the keyboard, after other dialogs. Lines that were typed before are
// dropped.
func (c *Console) runDialog(ctx context.Context, f func() error) error {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	c.endLineLocked()
	c.inDialog = true
	c.mu.Unlock()
	defer c.endDialog()
	c.in.discard()
	return f()
}

// endDialog shows what was kept during the dialog.
func (c *Console) endDialog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, show := range c.kept {
		show()
	}
	if dropped := c.notes - maxNotes; dropped > 0 {
		c.endLineLocked()
		c.write(screen.Faint, "%d more notes are not shown", dropped)
	}
	c.inDialog, c.kept, c.notes = false, nil, 0
}

// Choose implements [screen.Screen].
func (c *Console) Choose(ctx context.Context, q *screen.Choice) (key byte, err error) {
	err = c.runDialog(ctx, func() (err error) {
		for _, line := range q.Notes() {
			if line.Unbroken {
				fmt.Fprintln(c.errOut, c.paint.Text(line.Style, line.Text))
			} else {
				c.write(line.Style, "%s", line.Text)
			}
		}
		key, err = c.choose(ctx, q.Question, q.Answers)
		return err
	})
	return key, err
}

// Write implements [screen.Screen]. An empty line keeps the text, and there is no way back to the previous question.
func (c *Console) Write(ctx context.Context, d *screen.Draft) (written string, err error) {
	err = c.runDialog(ctx, func() error {
		if d.Text != "" {
			c.write(screen.Faint, "%s", hosttext.Indent(d.Text))
		}
		for {
			written, err = c.ask(ctx, screen.Warn, d.Prompt)
			if err != nil || written == "" || d.Check == nil {
				return err
			}
			wrong := d.Check(written)
			if wrong == nil {
				return nil
			}
			c.write(screen.Warn, "  %s; an empty line keeps what there was", hosttext.Line(wrong.Error(), 1000))
		}
	})
	if written == "" {
		written = d.Text
	}
	return written, err
}

// Fill implements [screen.Screen]: it asks for each field, as often as the person wants. What was
// typed is in the form even if it is declined.
func (c *Console) Fill(ctx context.Context, f *screen.Form) (action string, err error) {
	err = c.runDialog(ctx, func() (err error) {
		c.write(screen.Warn, "%s", f.Heading)
		if f.Message != "" {
			c.write(screen.Tool, "%s", hosttext.Block(f.Message, screen.MaxShown))
		}
		c.write(screen.Faint, "  Empty takes what is in [brackets]. !decline says no, !cancel leaves the form.")
		for _, err := range f.Mistakes {
			c.write(screen.Warn, "  %v", err)
		}
		for action == "" && err == nil {
			action, err = c.askFields(ctx, f)
		}
		return err
	})
	return action, err
}

// askFields asks for each field, and what to do with the form. The action is "" if the person wants to edit it.
func (c *Console) askFields(ctx context.Context, f *screen.Form) (action string, err error) {
	for _, field := range f.Fields {
		if action, err := c.askField(ctx, f, field); action != "" || err != nil {
			return action, err
		}
	}
	final := f.FinalChoice()
	c.write(screen.Tool, "%s", final.Text)
	key, err := c.choose(ctx, final.Question, final.Answers)
	return screen.Actions[key], err
}

// askField asks until the answer fits the field. An empty line keeps the value. The action is "" unless the person
// leaves the form.
func (c *Console) askField(ctx context.Context, f *screen.Form, field *forms.Field) (action string, err error) {
	for {
		text, err := c.ask(ctx, screen.Person, "  "+f.FieldPrompt(field))
		switch {
		case err != nil:
			return "", err
		case text == "!decline":
			return mcp.ElicitDecline, nil
		case text == "!cancel":
			return mcp.ElicitCancel, nil
		case text == "" && f.Values[field.Name] != nil:
			return "", nil
		}
		value, err := field.Parse(text)
		if err != nil {
			c.write(screen.Warn, "  field %q: %s", hosttext.Line(field.Name, 80), screen.FieldProblem(field, err))
			continue
		}
		if value != nil {
			f.Values[field.Name] = value
		}
		return "", nil
	}
}

// ask shows a question and waits for a line. It must be called within a dialog.
func (c *Console) ask(ctx context.Context, style screen.Style, question string) (string, error) {
	for {
		fmt.Fprint(c.errOut, c.render(style, question)+" ")
		text, err := c.in.next(ctx)
		if err == errLongLine {
			c.write(screen.Warn, "%v", err)
			continue
		}
		if err != nil {
			fmt.Fprintln(c.errOut)
		}
		return strings.TrimSpace(text), err
	}
}

// choose asks until a line is the key of an answer or the first word of its label: a line
// that was meant for something else decides nothing.
func (c *Console) choose(ctx context.Context, question string, answers []screen.Answer) (byte, error) {
	var keys []string
	for _, a := range answers {
		keys = append(keys, string(a.Key))
	}
	question += " " + screen.Paint{}.Answers(answers, ", ") + ":"
	for {
		text, err := c.ask(ctx, screen.Warn, question)
		if err != nil {
			return 0, err
		}
		text = strings.ToLower(text)
		for _, a := range answers {
			word, _, _ := strings.Cut(a.Label, " ")
			if text == string(a.Key) || text == strings.TrimRight(word, ",:") {
				return a.Key, nil
			}
		}
		c.write(screen.Faint, "  That is not one of the answers: type one of %s.", strings.Join(keys, ", "))
	}
}

// errShown means that the terminal cannot hide what is typed.
var errShown = errors.New("this terminal would show what is typed")

// Secret implements [screen.Screen].
func (c *Console) Secret(ctx context.Context, prompt string) (text string, err error) {
	if c.opts.Hide == nil {
		return "", errShown
	}
	err = c.runDialog(ctx, func() error {
		show, err := c.opts.Hide()
		if err != nil {
			return err
		}
		defer fmt.Fprintln(c.errOut) // the typed line break was not shown
		defer show()
		text, err = c.ask(ctx, screen.Warn, prompt)
		return err
	})
	return text, err
}
