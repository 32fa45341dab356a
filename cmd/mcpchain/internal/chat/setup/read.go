package setup

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// Read reads the file, and asks the person for the inputs that its servers need.
func (f *File) Read(ctx context.Context, s screen.Screen) (*config.Config, error) {
	f.used = map[string]string{}
	if f.content == nil {
		data, err := readFile(f.Path)
		if err != nil { // it is missing, or a pipe, which can be read only once
			cfg, err := loader(s).Load(ctx, f.Path)
			if err != nil {
				err = &cli.FileError{Err: err}
			}
			return cfg, err
		}
		if f.content, err = readContent(ctx, f.Path, data); err != nil {
			return nil, err
		}
	}
	return f.load(ctx, s)
}

// loader returns a loader that asks the person for inputs.
func loader(s screen.Screen) *config.Loader {
	return &config.Loader{Filters: true, SignIn: true, Input: func(ctx context.Context, in *config.Input) (string, error) {
		return askInput(ctx, s, in)
	}}
}

// load reads the servers of the content, or only those that are named.
func (f *File) load(ctx context.Context, s screen.Screen, only ...string) (*config.Config, error) {
	l := loader(s)
	l.EnvFile, l.Only = f.envFile, only
	cfg, err := l.LoadData(ctx, f.Path, f.content.file)
	if err != nil {
		return nil, err
	}
	for _, server := range cfg.Servers {
		f.used[server.Name] = f.content.fingerprint()
	}
	return cfg, nil
}

// envFile returns the content of an environment file. That of a project's file must have been read before the person was
// asked.
func (f *File) envFile(path string) ([]byte, error) {
	data, err := f.content.envFile(path)
	if errors.Is(err, errNotRead) && f.places == nil { // its path depends on an input
		return readFile(path)
	}
	return data, err
}

// Update is the result of [File.Reread].
type Update struct {
	Server *config.Server  // the requested server; nil: the file does not have it
	All    []config.Server // all servers of the file, by [config.Preview]
}

// ErrNotAllowed means that the person did not allow the content of a file.
var ErrNotAllowed = errors.New("you did not allow what the file says")

// Reread reads the file again for one server. It returns nil if the server was read from the same content. As at the
// start, the person is asked about a project's file that has changed, and for the inputs of the server.
func (f *File) Reread(ctx context.Context, s screen.Screen, server string) (*Update, error) {
	if f.content == nil {
		return nil, nil
	}
	data, err := readFile(f.Path)
	if err != nil {
		return nil, err
	}
	c, err := readContent(ctx, f.Path, data)
	if err != nil {
		return nil, err
	}
	if f.used[server] == c.fingerprint() {
		return nil, nil
	}
	preview, err := config.Preview(f.Path, data)
	if err != nil {
		return nil, err
	}
	again := &Update{All: preview.Servers}
	if !slices.ContainsFunc(again.All, func(known config.Server) bool { return known.Name == server }) {
		return again, nil
	}
	if f.places != nil && f.content.fingerprint() != c.fingerprint() {
		if c, err = f.places.askTrust(ctx, s, data); err != nil {
			return nil, err
		}
		if c == nil {
			return nil, ErrNotAllowed
		}
	}
	f.content = c
	cfg, err := f.load(ctx, s, server)
	if err != nil {
		return nil, err
	}
	again.Server = &cfg.Servers[0]
	return again, nil
}

var errUnattended = errors.New("there is no terminal to ask on; use an environment variable instead")

// askInput asks the person for an input of the file.
func askInput(ctx context.Context, s screen.Screen, in *config.Input) (answer string, err error) {
	switch {
	case !s.Attended():
		return "", errUnattended
	case in.Password:
		answer, err = s.Secret(ctx, signin.Question(in))
	default:
		for i, c := range in.Choices {
			s.Note(screen.Tool, "  %d) %s", i+1, hosttext.Line(c, 200))
		}
		answer, err = s.Write(ctx, &screen.Draft{Prompt: signin.Question(in)})
	}
	return signin.Value(in, strings.TrimSpace(answer)), err
}
