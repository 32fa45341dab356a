// Package setup finds the file of servers, asks the person whether a project's file may be used,
// and reads it.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Places are the paths where a file of servers is looked for.
type Places struct {
	Project string // in the current folder; it may come from a stranger
	User    string // in the person's configuration folder; "" if there is none
	Trust   string // folder for the decisions on project files; "": they are not kept
}

// File is a file of servers.
type File struct {
	Path    string
	content *content // of a project's file, as the person has allowed it; nil for other files
}

// Find returns the project's file if the person allows it, or else the person's own. It tells the
// person which one. If there is none, it returns nil. A project's file that is there but cannot be
// read is an error.
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
		s.Note(screen.Faint, "servers: none; name a file by -config, or write %s or %s",
			p.Project, hosttext.Line(p.User, maxPath))
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
