package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// errDeclined means that the person gave no arguments.
var errDeclined = errors.New("declined")

// completeArguments are the arguments of a prompt, with what the person is asked for because a
// required one is missing. A prompt that the server does not list needs nothing.
func (s *Session) completeArguments(ctx context.Context, server *adapter.ServerStatus, name string, given map[string]string) (map[string]string, error) {
	prompt, err := findPrompt(ctx, server.Client, name)
	if err != nil || prompt == nil {
		return given, err
	}
	form := &screen.Form{
		Server: server.Name, Values: map[string]any{}, Message: prompt.Description,
		Heading: fmt.Sprintf("The prompt %s of the server %s takes these arguments:", hosttext.Line(prompt.Name, 80), server.Name),
	}
	var missing []string
	for _, a := range prompt.Arguments {
		if _, done := given[a.Name]; done {
			continue
		}
		if a.Required {
			missing = append(missing, hosttext.Line(a.Name, 80))
		}
		form.Fields = append(form.Fields, &forms.Field{
			Name: a.Name, Title: a.Name, Description: a.Description, Kind: forms.KindString, Required: a.Required,
		})
	}
	switch {
	case len(missing) == 0:
		return given, nil
	case !s.Screen.Attended():
		return nil, fmt.Errorf("the prompt %s needs %s, as in %s=…", hosttext.Line(name, 80), strings.Join(missing, " and "), missing[0])
	}
	action, err := s.Screen.Fill(ctx, form)
	if err == io.EOF || err == nil && action != mcp.ElicitAccept {
		return nil, errDeclined
	}
	for name, value := range form.Values {
		given[name] = fmt.Sprint(value)
	}
	return given, err
}
