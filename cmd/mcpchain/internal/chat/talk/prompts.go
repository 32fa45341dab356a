package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// promptUsage returns a prompt with its arguments, as /prompt accepts them.
func promptUsage(p *mcp.Prompt) string {
	usage := quoted(p.Name)
	for _, a := range p.Arguments {
		if a.Required {
			usage += " " + a.Name + "=…"
		} else {
			usage += " [" + a.Name + "=…]"
		}
	}
	return usage
}

// askPrompt is the command /prompt: it asks the model with a server's prompt. A turn begins with one
// message of the person, so all messages of the prompt become one, also those of the assistant. The
// model gets what the person sees: other content than text is only named, as in [image …].
func (o *offers) askPrompt(ctx context.Context, argument string) error {
	server, text, err := prompts.cutServer(o.servers(&prompts), argument)
	if err != nil {
		return err
	}
	name, rest := cutName(text)
	if name == "" {
		return errors.New("usage: /prompt NAME key=value …; /prompts lists them")
	}
	given, err := parseArguments(rest)
	if err != nil {
		return err
	}
	given, ok, err := o.fillArguments(ctx, server, name, given)
	if err != nil || !ok {
		return err
	}
	result, err := server.Client.GetPrompt(ctx, name, given)
	if err != nil {
		return fmt.Errorf("server %s: %w", server.Name, err)
	}
	var texts []string
	for _, m := range result.Messages {
		texts = append(texts, offering.Content([]mcp.Content{m.Content}))
	}
	question := strings.Join(texts, "\n")
	o.screen.Note(screen.Person, "the prompt %s of the server %s:\n%s",
		hosttext.Line(name, 200), server.Name, hosttext.Block(question, screen.MaxShown))
	return o.ask(ctx, run.Text(run.RoleUser, question))
}

// cutName cuts the name of a prompt, which may be in double quotes, from the beginning of a text.
func cutName(text string) (name, rest string) {
	if opened, isQuoted := strings.CutPrefix(text, `"`); isQuoted {
		if name, rest, closed := strings.Cut(opened, `"`); closed {
			return name, rest
		}
		return text, ""
	}
	end := strings.IndexFunc(text+" ", unicode.IsSpace)
	return text[:end], text[end:]
}

// findPrompt returns a prompt in the list of a server, nil if it is not there.
func findPrompt(ctx context.Context, c *mcpclient.Client, name string) (*mcp.Prompt, error) {
	for p, err := range c.Prompts(ctx) {
		if err != nil {
			return nil, err
		}
		if p.Name == name {
			return p, nil
		}
	}
	return nil, nil
}

// fillArguments returns the arguments of a prompt. If a required one is missing, the person is
// asked for all that are not given; without a person it is an error. A prompt that the server does
// not list is taken to need none. ok is false if the person does not want to fill them in.
func (o *offers) fillArguments(
	ctx context.Context, server *adapter.ServerStatus, name string, given map[string]string,
) (all map[string]string, ok bool, err error) {
	prompt, err := findPrompt(ctx, server.Client, name)
	if err != nil || prompt == nil {
		return given, err == nil, err
	}
	if err := offering.CheckNames(prompt, given); err != nil {
		return nil, false, err
	}
	missing := offering.CheckRequired(prompt, given)
	if missing == nil {
		return given, true, nil
	}
	if !o.screen.Attended() {
		return nil, false, missing
	}
	form := argumentForm(server.Name, prompt, given)
	action, err := o.screen.Fill(ctx, form)
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	if err != nil || action != mcp.ElicitAccept {
		return nil, false, err
	}
	all = maps.Clone(given)
	for name, value := range form.Values {
		all[name] = fmt.Sprint(value)
	}
	return all, true, nil
}

// argumentForm returns a form with the arguments of a prompt that are not given.
func argumentForm(server string, prompt *mcp.Prompt, given map[string]string) *screen.Form {
	form := &screen.Form{
		Server:  server,
		Values:  map[string]any{},
		Message: prompt.Description,
		Heading: fmt.Sprintf("The prompt %s of the server %s takes these arguments:",
			hosttext.Line(prompt.Name, 80), server),
	}
	for _, a := range prompt.Arguments {
		if _, done := given[a.Name]; done {
			continue
		}
		form.Fields = append(form.Fields, &forms.Field{
			Name:        a.Name,
			Title:       a.Name,
			Description: a.Description,
			Kind:        forms.KindString,
			Required:    a.Required,
		})
	}
	return form
}

// nextKey matches the beginning of another argument.
var nextKey = regexp.MustCompile(`\s+[^\s=]+=`)

// parseArguments reads key=value pairs. A value in double quotes has any text but these, and another value continues
// until the next key. The last value of a key counts.
func parseArguments(text string) (map[string]string, error) {
	given := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" || strings.ContainsFunc(key, unicode.IsSpace) {
			return nil, fmt.Errorf("want key=value, got %s", hosttext.Line(strings.Fields(text)[0], 80))
		}
		text = ""
		if opened, isQuoted := strings.CutPrefix(value, `"`); isQuoted && strings.Contains(opened, `"`) {
			value, text, _ = strings.Cut(opened, `"`)
		} else if next := nextKey.FindStringIndex(value); next != nil {
			value, text = value[:next[0]], value[next[0]:]
		}
		given[key] = value
	}
	return given, nil
}
