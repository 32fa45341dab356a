package setup

import (
	"context"
	"errors"
	"strings"

	"github.com/mcpchain/mcpchain/examples/chatbot/internal/screen"
	"github.com/mcpchain/mcpchain/examples/internal/signin"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// Read reads a file, and asks the person for the inputs that its servers need.
func (f *File) Read(ctx context.Context, s screen.Screen) (*config.Config, error) {
	loader := config.Loader{Filters: true, SignIn: true, Input: func(ctx context.Context, in *config.Input) (string, error) {
		return ask(ctx, s, in)
	}}
	if f.content == nil {
		return loader.Load(ctx, f.Path)
	}
	loader.EnvFile = f.content.environment
	return loader.LoadData(ctx, f.Path, f.content.file)
}

var errUnattended = errors.New("there is no terminal to ask on; use an environment variable instead")

// ask asks for an input. The texts are the file's.
func ask(ctx context.Context, s screen.Screen, in *config.Input) (answer string, err error) {
	switch {
	case !s.Attended():
		return "", errUnattended
	case in.Password:
		answer, err = s.Secret(ctx, signin.Question(in))
	default:
		for i, c := range in.Choices {
			s.Note(screen.Tool, "  %d) %s", i+1, safetext.Line(c.Label, 200))
		}
		answer, err = s.Write(ctx, signin.Question(in), "")
	}
	return signin.Value(in, strings.TrimSpace(answer)), err
}
