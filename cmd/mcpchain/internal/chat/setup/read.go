package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
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
	ask := func(ctx context.Context, in *config.Input) (string, error) { return askInput(ctx, s, in) }
	return &config.Loader{AllowFilters: true, AllowSignIn: true, Input: ask}
}

// load reads the servers of the content, or only the named ones, and notes that they are from it.
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

// envFile returns the content of an environment file. If a project's file names it, it must have
// been read before the person was asked.
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
	All    []config.Server // all servers of the file, by [config.ParsePreview]
}

// ErrNotAllowed means that the person did not allow the content of a file.
var ErrNotAllowed = errors.New("you did not allow what the file says")

// Reread reads the file again for one server. It returns nil if the server was read from the same
// content, and for a file that can be read only once. As at the start, the person is asked about a
// project's file that has changed, and for the inputs of the server.
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
	preview, err := config.ParsePreview(f.Path, data)
	if err != nil {
		return nil, err
	}
	update := &Update{All: preview.Servers}
	if !slices.ContainsFunc(update.All, func(known config.Server) bool { return known.Name == server }) {
		return update, nil
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
	update.Server = &cfg.Servers[0]
	return update, nil
}

// errUnattended means that an input is needed and there is no person.
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

// content is the content of a file of servers and of the environment files that it names. They are
// read once, so that the servers are started with what the person has allowed.
type content struct {
	file       []byte
	envFiles   map[string][]byte // by path
	unreadable map[string]error  // by path: why an environment file could not be read
}

// readContent reads the environment files that a file names. If one cannot be read, its server
// cannot be used.
func readContent(ctx context.Context, path string, file []byte) (*content, error) {
	c := &content{file: file, envFiles: map[string][]byte{}, unreadable: map[string]error{}}
	l := config.Loader{
		AllowFilters: true,
		AllowSignIn:  true,
		// The person is asked for inputs later.
		Input: func(context.Context, *config.Input) (string, error) { return "x", nil },
		EnvFile: func(path string) ([]byte, error) {
			data, err := readFile(path)
			if err != nil {
				c.unreadable[path] = err
				return nil, err
			}
			c.envFiles[path] = data
			return data, nil
		},
	}
	if _, err := l.LoadData(ctx, path, file); err != nil {
		return nil, &cli.FileError{Err: err}
	}
	return c, nil
}

// envFile returns the content of an environment file.
func (c *content) envFile(path string) ([]byte, error) {
	if data, ok := c.envFiles[path]; ok {
		return data, nil
	}
	if err := c.unreadable[path]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s %w", path, errNotRead)
}

// errNotRead means that an environment file was not named when the content was read.
var errNotRead = errors.New("was not read with the file that names it")

// fingerprint returns a hash of the content.
func (c *content) fingerprint() string {
	if len(c.envFiles) == 0 {
		return fingerprint(c.file)
	}
	sum := sha256.New()
	add := func(data []byte) { fmt.Fprintf(sum, "%d:%s", len(data), data) }
	add(c.file)
	for _, path := range slices.Sorted(maps.Keys(c.envFiles)) {
		add([]byte(path))
		add(c.envFiles[path])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// fingerprint returns a hash of data.
func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
