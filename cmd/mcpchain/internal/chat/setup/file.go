// Package setup finds the file of servers, asks the person whether a project's file may be used, and reads it.
package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// Places are the paths where a file of servers is looked for.
type Places struct {
	Project string // in the current folder; it may come from a stranger
	User    string // in the person's configuration folder; "" if there is none
	Trust   string // folder for the decisions on project files; "": they are not kept
}

// File is a file of servers. A nil File has none.
type File struct {
	Path    string
	content *content // of a project's file, as the person has allowed it; nil for other files
}

// Find returns the project's file if the person allows it, or else the person's own. It tells the person which one. If
// there is none, it returns nil. A project's file that exists but cannot be read is an error.
func (p *Places) Find(ctx context.Context, s screen.Screen) (*File, error) {
	data, err := readFile(p.Project)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, &cli.FileError{Err: err}
	}
	if !missing {
		content, err := p.askTrust(ctx, s, data)
		if err != nil {
			return nil, err
		}
		if content != nil {
			s.Note(screen.Faint, "servers: by %s", hosttext.Line(p.Project, maxPath))
			return &File{Path: p.Project, content: content}, nil
		}
	}
	if p.User != "" {
		if _, err := os.Stat(p.User); err == nil {
			s.Note(screen.Faint, "servers: by %s", hosttext.Line(p.User, maxPath))
			return &File{Path: p.User}, nil
		}
	}
	if missing {
		files := p.Project
		if p.User != "" {
			files += " or " + hosttext.Line(p.User, maxPath)
		}
		s.Note(screen.Faint, "servers: none; name a file by -config, or write %s", files)
	} else {
		s.Note(screen.Faint, "servers: none; %s is not used", hosttext.Line(p.Project, maxPath))
	}
	return nil, nil
}

// Candidate returns the path of the file that Find would look at, "" if there is none.
func (p *Places) Candidate() string {
	for _, path := range []string{p.Project, p.User} {
		if info, err := os.Stat(path); path != "" && err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// readFile reads a regular file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

const (
	maxFile = 1 << 20 // bytes of a file, as in package config
	maxPath = 400     // characters of a shown path
)

// Read reads the file, and asks the person for the inputs that its servers need. A project's file is read as the person
// has allowed it.
func (f *File) Read(ctx context.Context, s screen.Screen) ([]config.Server, error) {
	if f == nil {
		return nil, nil
	}
	ask := func(ctx context.Context, in *config.Input) (string, error) { return askInput(ctx, s, in) }
	loader := config.Loader{AllowFilters: true, AllowSignIn: true, Input: ask}
	if f.content != nil {
		loader.EnvFile = f.content.envFile
		return loader.LoadData(ctx, f.Path, f.content.file)
	}
	servers, err := loader.Load(ctx, f.Path)
	if err != nil {
		return nil, &cli.FileError{Err: err}
	}
	return servers, nil
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

// readContent reads the environment files that a file names. If one cannot be read, its server cannot be used.
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
	return nil, fmt.Errorf("%s was not read with the file that names it", path)
}

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
